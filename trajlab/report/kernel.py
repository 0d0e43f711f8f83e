"""The kernel an audit runs in: this interpreter, this trajlab, whatever kernelspecs lie around."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from traitlets import Dict as DictTrait
from traitlets.config import Config

_PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])
_ARGUMENTS = ["--HistoryManager.enabled=False", "--log-level=50"]
"""No history file; what an interrupted kernel logs is no message for the user, whom the parent tells."""


class ThisPythonKernelManager(AsyncKernelManager):
    """Starts ``sys.executable -m ipykernel_launcher`` and hands it an environment.

    A kernelspec ``python3`` of the user or of a colleague's environment is never consulted. The parent's
    environment stays as it is, so that runs in threads do not see each other.
    """

    environment = DictTrait(help="Environment variables added for the kernel.").tag(config=True)

    @property
    def kernel_spec(self) -> KernelSpec:
        """The one kernel there is."""
        return KernelSpec(**get_kernel_dict(extra_arguments=_ARGUMENTS))

    async def start_kernel(self, **options: object) -> None:  # type: ignore[override]
        """Start the kernel with the added environment."""
        given = options.pop("env", None)
        environment = dict(cast("dict[str, str]", os.environ if given is None else given))
        environment.update(self.environment)
        await AsyncKernelManager.start_kernel(self, env=environment, **options)


def kernel_environment(folder: Path) -> dict[str, str]:
    """Environment of a batch kernel that writes to ``folder``."""
    path = [_PACKAGE_PARENT, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "TRAJLAB_BATCH": "1",
        "TRAJLAB_RUN_DIR": str(folder.resolve()),
        "MPLBACKEND": "agg",
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONHASHSEED": "0",
    }


def kernel_config(folder: Path) -> Config:
    """Configuration of papermill's notebook client for such a kernel.

    Encryption ``auto`` also silences ipykernel's warning about plain TCP (ipython/ipykernel#1515). A
    kernel often does not hear the request to shut down; what it had to write is written, so waiting is idle.
    """
    config = Config()
    config.KernelManager.transport_encryption = "auto"
    config.KernelManager.shutdown_wait_time = 1.0
    config.ThisPythonKernelManager.environment = kernel_environment(folder)
    return config
