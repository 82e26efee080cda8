"""The asynchronous client is safe to share between tasks."""

import anyio
from client.echo import Echo
from client.loopback import serving

from ellzero.client import (
    AsyncClient,
)


def test_many_tasks_share_one_client() -> None:
    echoed: dict[int, str | None] = {}

    async def call(client: AsyncClient, number: int) -> None:
        echoed[number] = (await client.radius(f"{number}/1009", k=255, alpha="0.2", d=784)).p

    async def everything(url: str) -> None:
        async with AsyncClient(url) as client, anyio.create_task_group() as tasks:
            for number in range(1, 300):
                tasks.start_soon(call, client, number)

    with serving(Echo().app) as url:
        anyio.run(everything, url)
    assert echoed == {number: f"{number}/1009" for number in range(1, 300)}
