"""Make the pictures in README.md anew: ``python tests/readme_pictures.py`` (needs Chromium and the extra ``test``).

Every picture is of a real page: the audit of the demo, the diagnosis of a simulated collapse, the reviewer on sample
logs. They are made by hand, not by a test: fonts and browsers differ from machine to machine.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from pathlib import Path

import trajlab
from trajlab.simulate import simulate

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "notebooks" / "pictures"
WIDTH = 1100
COLOURS = 96


def shoot(page: Path, name: str, height: int, keys: str = "") -> None:
    """A picture of the top of a page."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    browser = os.environ.get("TRAJLAB_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        tab = chromium.new_page(viewport={"width": WIDTH, "height": height})
        tab.goto(page.resolve().as_uri())
        tab.wait_for_timeout(1500)
        for key in keys:
            tab.keyboard.press(key)
            tab.wait_for_timeout(300)
        content = tab.screenshot()
        chromium.close()
    picture = Image.open(io.BytesIO(content)).convert("RGB").quantize(COLOURS)
    PICTURES.mkdir(exist_ok=True)
    picture.save(PICTURES / f"{name}.png", optimize=True)
    print(name, (PICTURES / f"{name}.png").stat().st_size)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        demo = ROOT / "data_samples" / "mini_swe_agent" / "mini-swe-agent-demo"
        shoot(trajlab.audit(demo, folder / "audit").reports[0], "audit", 1000)
        simulate("R3", folder / "runs", scale=0.5)
        shoot(trajlab.diagnose(folder / "runs", folder / "diagnosis").reports[0], "diagnosis", 1500)
        corpus = trajlab.read(demo)
        trajlab.review_page(corpus, folder / "review.html", n=12, reviewer="ann")
        shoot(folder / "review.html", "reviewer", 760, "t")


if __name__ == "__main__":
    main()
