// The thread that profiles the main thread: it controls V8's profiler there and builds the file. On the main thread a large
// profile would delay requests.

import { Session } from 'node:inspector/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { convertCpuProfile, convertHeapProfile } from './v8-profiles.ts'
import type { ProfileJob } from './profiler.ts'

async function takeCpuProfile({
  seconds,
  frequency,
}: Extract<ProfileJob, { kind: 'cpu' }>): Promise<Buffer> {
  const session = new Session()
  session.connectToMainThread()
  await session.post('Profiler.enable')
  const interval = Math.round(1e6 / frequency)
  await session.post('Profiler.setSamplingInterval', { interval })
  const startedAt = Date.now()
  await session.post('Profiler.start')
  await waitUntilDone(seconds * 1000)
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  const duration = (profile.endTime - profile.startTime) / 1000
  return convertCpuProfile(profile, frequency, { startedAt, duration })
}

/** For `ms` milliseconds, or until the main thread cancels. */
async function waitUntilDone(ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const elapsed = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))
  await Promise.race([elapsed, cancelled])
  clearTimeout(timer)
}

/** A message of the main thread. The listener keeps this thread alive, which the session does not. */
const cancelled = new Promise((resolve) => parentPort?.on('message', resolve))

const job = workerData as ProfileJob
const profile =
  job.kind === 'cpu' ? takeCpuProfile(job) : convertHeapProfile(job.heap, job.interval, job.span)
parentPort?.postMessage(await profile)
parentPort?.close()
