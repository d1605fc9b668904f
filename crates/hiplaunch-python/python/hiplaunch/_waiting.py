"""What `await ticket` does."""

import asyncio


async def wait(ticket):
    """Waits for a ticket without blocking the event loop, and returns its result."""
    if not ticket.done:
        loop = asyncio.get_running_loop()
        finished = loop.create_future()

        def finish():
            if not finished.done():  # It is after a cancellation.
                finished.set_result(None)

        def wake():
            try:
                loop.call_soon_threadsafe(finish)
            except RuntimeError:  # The loop was closed: nobody waits any more.
                pass

        ticket.add_done_callback(wake)
        await finished
    return ticket.result()
