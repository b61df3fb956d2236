// /debug/pprof of all workers as one profile, or of one process: `?worker=2`, `?worker=supervisor`.

import type { ServerResponse } from 'node:http'
import {
  abortWhenClosed,
  createPprofEndpoints,
  parseProfileSeconds,
  sendProfile,
} from '../../admin/pprof/profile-endpoints.ts'
import type { ProfileSource } from '../../admin/pprof/profile-endpoints.ts'
import { sendText } from '../../admin/admin-server.ts'
import type { EndpointTable, EndpointHandler } from '../../admin/endpoint-types.ts'
import type { WorkerEndpoints } from '../worker-messages.ts'
import { requestWorker, WorkerSet } from './ask-workers.ts'
import type { WorkerResponse, WorkerRequest } from './ask-workers.ts'

/** What a profile may take beyond the time that is looked at: less than those who ask wait. */
const GRACE_MS = 8_000

/** A heap is looked at within a moment, but for one that is very large. */
const HEAP_MS = 10_000

const BUSY_STATUS = 409

/** Whose profiles are in the answer. */
const WORKERS_HEADER = 'x-gateway-workers'

type TakeProfile = (door: WorkerEndpoints) => Promise<WorkerResponse>

export function createAggregatedProfileEndpoints(
  crew: WorkerSet,
  own: ProfileSource,
  platform: NodeJS.Platform,
): EndpointTable {
  let state: 'idle' | 'busy' = 'idle'
  const alone = async (response: ServerResponse, work: () => Promise<void>): Promise<void> => {
    if (state === 'busy') return sendProfile(response, null)
    state = 'busy'
    try {
      await work()
    } finally {
      state = 'idle'
    }
  }
  const over = (path: string, local: EndpointHandler): EndpointHandler => {
    return async (request, response, url) => {
      const { search, searchParams } = url
      const worker = searchParams.get('worker')
      if (worker === 'supervisor') return local(request, response, url)
      const doors = crew.newestPerSlot.filter(
        ({ slot }) => worker === null || worker === String(slot),
      )
      if (doors.length === 0) return sendText(response, 404, describeUnknownWorker(worker, crew))
      const ms = path.endsWith('/heap')
        ? HEAP_MS
        : parseProfileSeconds(searchParams) * 1_000 + GRACE_MS
      const question: WorkerRequest = { path: path + search, ms, signal: abortWhenClosed(response) }
      const take: TakeProfile = ({ admin }) => requestWorker(admin, question)
      await alone(response, () => sendMergedProfile(response, doors, take))
    }
  }
  const paths = Object.entries(createPprofEndpoints(own, platform))
  return Object.fromEntries(
    paths.map(([path, { GET: local }]) => [path, { GET: over(path, local!) }]),
  )
}

async function sendMergedProfile(
  response: ServerResponse,
  doors: readonly WorkerEndpoints[],
  take: TakeProfile,
): Promise<void> {
  const asked = new WorkerSet()
  for (const door of doors) asked.add(door)
  const said = await asked.all(take)
  const answers = said.filter((one) => 'value' in one)
  if (answers.some(({ value }) => value.status === BUSY_STATUS)) return sendProfile(response, null)
  const taken = answers.filter(({ value }) => value.status === 200)
  if (taken.length === 0) return sendText(response, 502, describeProblems(said))
  const bodies = taken.map(({ value }) => value.body)
  // Loaded when it is needed: most processes are never profiled.
  const { mergeProfiles } = await import('../../admin/pprof/pprof-file.ts')
  const profile = bodies.length === 1 ? bodies[0]! : await mergeProfiles(bodies)
  response.setHeader(WORKERS_HEADER, taken.map(({ worker: door }) => door.slot).join(', '))
  sendProfile(response, profile)
}

function describeProblems(said: Awaited<ReturnType<WorkerSet['all']>>): string {
  return said
    .map((one) => {
      const reason =
        'problem' in one ? one.problem : `answered ${(one.value as WorkerResponse).status}`
      return `worker ${one.worker.slot}: ${reason}`
    })
    .join('\n')
}

function describeUnknownWorker(worker: string | null, crew: WorkerSet): string {
  const slots = crew.newestPerSlot.map(({ slot }) => slot)
  if (worker === null) return 'no worker runs'
  return `no such worker: ${worker.slice(0, 32)}; expected ${['supervisor', ...slots].join(', ')}`
}
