"""Write NeMo-Gym rollouts; see nemo_writer.py. Usage: python nemo_gym_writer.py OUT   (needs nothing)"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from nemo_writer import gym  # noqa: E402

if __name__ == "__main__":
    gym(Path(sys.argv[1]))
