"""Coded checks over estimates: findings and gates."""
