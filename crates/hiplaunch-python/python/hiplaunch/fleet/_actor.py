"""The actor that holds a device.

Ray gets this class by value and not by its name, so that it also starts on a node that lacks this package or has another
version, and can say so. So it uses nothing of the package before `hello` has compared the versions.
"""

from __future__ import annotations

from typing import Any


def device_class() -> type:
    """Returns the class of the actor. It is made here so that Ray sends its code."""

    class HipDevice:
        def __init__(self, environment: dict[str, str]) -> None:
            import os

            for name, value in environment.items():
                os.environ.setdefault(name, value)
            self.worker: Any = None

        def hello(self, version: str) -> dict[str, Any]:
            """Says where this actor is, and what is wrong with its package, if anything is."""
            import importlib
            import os

            ray = importlib.import_module("ray")
            context = ray.get_runtime_context()
            said: dict[str, Any] = {
                "id": context.get_node_id(),
                "address": ray.util.get_node_ip_address(),
                "pid": os.getpid(),
                "error": None,
            }
            node = f"node {said['address']}"
            try:
                import hiplaunch

                if hiplaunch.__version__ != version:
                    said["error"] = f"{node} has hiplaunch {hiplaunch.__version__}, and the driver {version}"
                else:
                    from hiplaunch.fleet._worker import Worker

                    self.worker = Worker()
            except ImportError as error:
                said["error"] = f"{node} can't import hiplaunch {version}: {error}"
            return said

        def work(self, batch: dict[str, Any]) -> dict[str, Any]:
            """Runs the items of a batch, and returns their results."""
            result: dict[str, Any] = self.worker.work(batch)
            return result

        def clean(self, folder: str) -> None:
            """Removes the node's folder of files."""
            import os
            import shutil

            os.chdir("/")
            shutil.rmtree(folder, ignore_errors=True)

    return HipDevice
