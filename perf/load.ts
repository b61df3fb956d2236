// Two ways to load a peer with the small POST: at full speed, or at a fixed rate.
import { setTimeout as sleep } from 'node:timers/promises'
import { Caller } from './client.ts'
import { Deferred } from './deferred.ts'
import { nowMicros } from './fixtures.ts'
import { Pacer } from './pacer.ts'
import { Stopwatch, type Timing, type Window } from './stopwatch.ts'

export type Plan = Timing & { port: number; connections: number; request?: string }

/** Closed loop: every connection sends again as soon as it is answered. */
export async function fullSpeed(plan: Plan): Promise<Window> {
  return observe(plan, (record) => ({
    begin: (callers) => callers.forEach((caller) => caller.send(nowMicros())),
    answered: (caller) => {
      const now = nowMicros()
      record(now - caller.sentAt)
      caller.send(now)
    },
    end: async () => {},
  }))
}

/** Open loop: requests are sent by the clock; one that finds no idle connection waits, and the wait counts. */
export async function fixedRate(plan: Plan, perSecond: number): Promise<Window> {
  return observe(plan, (record) => {
    const idle: Caller[] = []
    const queue: number[] = []
    const period = 1e6 / perSecond
    let due = 0
    const pacer = new Pacer(() => {
      // The pacer may wake a little late; a request counts from the time it could be sent.
      const now = nowMicros()
      for (; due <= now; due += period) {
        const caller = idle.shift()
        if (caller === undefined) queue.push(now)
        else caller.send(now)
      }
    })
    return {
      begin: (callers) => {
        idle.push(...callers)
        due = nowMicros()
        pacer.every(period)
      },
      answered: (caller) => {
        record(nowMicros() - caller.sentAt)
        const waiting = queue.shift()
        if (waiting === undefined) idle.push(caller)
        else caller.send(waiting)
      },
      end: () => pacer.stop(),
    }
  })
}

type Style = {
  begin: (callers: readonly Caller[]) => void
  answered: (caller: Caller) => void
  end: () => Promise<void>
}

async function observe(
  plan: Plan,
  make: (record: (micros: number) => void) => Style,
): Promise<Window> {
  const failure = new Deferred()
  const watch = new Stopwatch()
  const style = make((micros) => watch.record(micros))
  const events = {
    answered: (caller: Caller) => {
      if (!watch.isOver) style.answered(caller)
    },
    failed: failure.reject,
  }
  const callers = Array.from(
    { length: plan.connections },
    () => new Caller(plan.port, events, plan.request),
  )
  try {
    await Promise.all(callers.map((caller) => caller.ready()))
    style.begin(callers)
    return await watch.run(plan, failure)
  } finally {
    watch.stop()
    await style.end()
    for (const caller of callers) caller.socket.destroy()
  }
}

const WARM_REQUESTS = 100

/**
 * A few requests first, so that code loaded on first use is not counted as growth of memory.
 * A count and not a time: garbage left by a faster warm-up would raise the baseline and hide growth.
 */
export async function warm(port: number): Promise<void> {
  const over = new Deferred()
  let left = WARM_REQUESTS
  const answered = (caller: Caller): void => {
    if (--left === 0) over.resolve()
    else caller.send(nowMicros())
  }
  const caller = new Caller(port, { answered, failed: over.reject })
  try {
    await caller.ready()
    caller.send(nowMicros())
    await over.promise
  } finally {
    caller.socket.destroy()
  }
  await sleep(200)
}
