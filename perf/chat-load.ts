// Loads a peer with streamed chats: one after the other, on many connections, or a fixed number.
import type { Socket } from 'node:net'
import { ChatCaller } from './chat-client.ts'
import { CHAT_PATH, STREAM_BODY, chatRequest, pacedTarget } from './chat-fixtures.ts'
import { Deferred } from './deferred.ts'
import { nowMicros } from './fixtures.ts'
import { Stopwatch, type Timing, type Window } from './stopwatch.ts'
import type { StreamEvents } from './stream-crowd.ts'
import { TOKEN } from './token.ts'

/** One at a time; latencies are from the request to the first byte of the response body. */
export async function firstBytes(port: number, request: string, timing: Timing): Promise<Window> {
  const failure = new Deferred()
  const watch = new Stopwatch()
  const caller = new ChatCaller(port, {
    first: ({ sentAt }) => watch.record(nowMicros() - sentAt),
    stamp: () => {},
    ended: () => {
      if (!watch.isOver) caller.send(request)
    },
    failed: failure.reject,
  })
  try {
    await caller.ready()
    caller.send(request)
    return await watch.run(timing, failure)
  } finally {
    watch.stop()
    caller.socket.destroy()
  }
}

/** A fixed number of short chats, a few at a time. */
export async function shortChats(port: number, count: number, atOnce: number): Promise<void> {
  const over = new Deferred()
  const request = chatRequest(CHAT_PATH, STREAM_BODY, '', TOKEN)
  let [sent, ended] = [0, 0]
  const next = (caller: ChatCaller): void => {
    if (sent++ < count) caller.send(request)
  }
  const callers = Array.from(
    { length: atOnce },
    () =>
      new ChatCaller(port, {
        first: () => {},
        stamp: () => {},
        ended: (caller) => {
          if (++ended === count) over.resolve()
          else next(caller)
        },
        failed: over.reject,
      }),
  )
  try {
    await over.guard(Promise.all(callers.map(async (caller) => caller.ready())))
    for (const caller of callers) next(caller)
    await over.promise
  } finally {
    for (const { socket } of callers) socket.destroy()
  }
}

export type Chats = { interval: number; chunks: number; streams: number }

/** One chat after the other; the first chats have different lengths, so that their ends are spread. */
export async function openChats(
  port: number,
  at: number,
  { interval, chunks, streams }: Chats,
  { stamp, failed }: StreamEvents,
): Promise<Socket> {
  const request = (count: number): string =>
    chatRequest(pacedTarget(interval, count), STREAM_BODY, '', TOKEN)
  const next = request(chunks)
  const caller = new ChatCaller(port, {
    first: () => {},
    stamp,
    ended: () => caller.send(next),
    failed,
  })
  await caller.ready()
  caller.send(request(1 + Math.floor((at * chunks) / streams)))
  return caller.socket
}
