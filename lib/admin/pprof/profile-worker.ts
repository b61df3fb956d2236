// The thread that takes a profile of the main one: it asks V8 there, reads what V8 tells, and makes the file of it, with
// source maps and all. On the main thread that would hold requests up for as long as the profile is large.

import { Session } from 'node:inspector/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { convertCpuProfile, convertHeapProfile } from './v8-profiles.ts'
import type { ProfileJob } from './profiler.ts'

async function cpu({ seconds, frequency }: Extract<ProfileJob, { kind: 'cpu' }>): Promise<Buffer> {
  const session = new Session()
  session.connectToMainThread()
  await session.post('Profiler.enable')
  const interval = Math.round(1e6 / frequency)
  await session.post('Profiler.setSamplingInterval', { interval })
  const startedAt = Date.now()
  await session.post('Profiler.start')
  await elapsed(seconds * 1000)
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  const duration = (profile.endTime - profile.startTime) / 1000
  return convertCpuProfile(profile, frequency, { startedAt, duration })
}

/** So long, or until nobody waits for it any more. */
async function elapsed(ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))
  await Promise.race([over, enough])
  clearTimeout(timer)
}

/** A word from the main thread. To listen for it keeps this one alive, which a session with another thread does not. */
const enough = new Promise((resolve) => parentPort?.on('message', resolve))

// Whoever starts this thread gives it a job.
const job = workerData as ProfileJob
const made = job.kind === 'cpu' ? cpu(job) : convertHeapProfile(job.heap, job.interval, job.span)
parentPort?.postMessage(await made)
parentPort?.close()
