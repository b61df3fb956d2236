// Processes that a spec did not start itself: finds them by the log, and waits for their end.

import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Program } from './program.ts'

const WAIT_MS = 30_000
const LOOK_MS = 20
const FORK_LOOK_MS = 2

/** The latest process of each slot. */
export function workersOf({ stdout }: Program): Map<number, number> {
  const found = stdout.matchAll(/worker started worker=(\d+) pid=(\d+)/g)
  return new Map([...found].map(([, slot, pid]) => [Number(slot), Number(pid)]))
}

/** Includes workers that do not serve yet. */
export async function untilForked(pid: number, count: number): Promise<number[]> {
  const until = performance.now() + WAIT_MS
  for (;;) {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    const found = (text.match(/\d+/g) ?? []).map(Number).filter(isWorker)
    if (found.length >= count) return found
    if (performance.now() > until) throw new Error(`only ${found.length} of ${count} processes`)
    await wait(FORK_LOOK_MS)
  }
}

/** Before exec the parent waits for the process, so it must not be stopped. */
function isWorker(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes('GATEWAY_WORKER=')
  } catch {
    return false
  }
}

/** The successors of restarts, in order. */
export function successorsOf({ stdout }: Program): number[] {
  return [...stdout.matchAll(/handed over pid=(\d+)/g)].map(([, pid]) => Number(pid))
}

/** A zombie process counts as ended. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

export async function untilGone(pids: Iterable<number>): Promise<void> {
  const until = performance.now() + WAIT_MS
  for (const pid of pids)
    while (isAlive(pid)) {
      if (performance.now() > until) throw new Error(`process ${pid} still runs`)
      await wait(LOOK_MS)
    }
}
