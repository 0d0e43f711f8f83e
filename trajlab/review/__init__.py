"""What people read and how: samples, the reviewer, labels, and what labels give."""
