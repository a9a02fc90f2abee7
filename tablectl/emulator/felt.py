"""The felt of an emulated table: what its dealer deals is seen to be laid, card by card, by a virtual camera.

Shoe and felt stay in step: after each observation that went over the wire, `after` shows the felt as the dealer's own table has
it now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tablectl.felt.layout import Layout
from tablectl.felt.staging import Arrangement, Scene, film
from tablectl.felt.virtual import write_scene
from tablectl.game.state import State
from tablectl.game.view import view

__all__ = ["EmulatedFelt"]


class EmulatedFelt:
    """A felt of `layout`, shown in the scene file `path`, with hands that bring and take the cards.

    `pause` is between two pictures of a hand on its way, in seconds; 0 shows no hands. What is tampered with (`arrangement`) is
    seen from the next `after`, or at once with `refresh`.
    """

    def __init__(
        self,
        layout: Layout,
        path: Path,
        *,
        seed: int = 1,
        pause: float = 0.04,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.arrangement = Arrangement(layout, seed=seed)
        self.scene = Scene()
        self._path = path
        self._pause = pause
        self._sleep = sleep
        path.parent.mkdir(parents=True, exist_ok=True)
        write_scene(path, self.scene)

    def after(self, table: State) -> None:
        """Show the table as it is now; takes as long as the hands need. A closed round is swept at the next stake."""
        now = view(table)
        if not now.round_open and now.phase == "betting" and any(box.staked for box in now.boxes):
            self.arrangement.sweep()
        self._turn_to(self.arrangement.show(now))

    def refresh(self) -> None:
        """Show what was tampered with."""
        self._turn_to(self.arrangement.scene(self.scene.stacks))

    def show(self, scene: Scene) -> None:
        """Show any scene, as with a hand in it, the camera covered, or the lights out; until the next."""
        write_scene(self._path, scene)

    def _turn_to(self, scene: Scene) -> None:
        if scene == self.scene:
            return
        before, self.scene = self.scene, scene
        if self._pause <= 0:
            write_scene(self._path, scene)
            return
        for picture in film(before, scene):
            write_scene(self._path, picture)
            self._sleep(self._pause)
