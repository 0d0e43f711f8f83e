"""``python -m trajlab.cli``."""

from trajlab.cli import main

if __name__ == "__main__":
    main()
