// /debug/pprof of all workers merged into one profile, or of one process: `?worker=2`, `?worker=supervisor`.

import type { ServerResponse } from 'node:http'
import {
  abortWhenClosed,
  createPprofEndpoints,
  parseCpuParameters,
  sendProfile,
} from '../../admin/pprof/profile-endpoints.ts'
import type { ProfileSource } from '../../admin/pprof/profile-endpoints.ts'
import { sendText } from '../../admin/admin-server.ts'
import type { EndpointTable, EndpointHandler } from '../../admin/endpoint-types.ts'
import type { WorkerEndpoints } from '../worker-messages.ts'
import { requestWorker, WorkerSet } from './ask-workers.ts'
import type { WorkerResponse, WorkerRequest } from './ask-workers.ts'

/** Time for a profile in addition to its duration; shorter than the timeout of clients. */
const GRACE_MS = 8_000

/** For a heap profile, which takes long only for a very large heap. */
const HEAP_MS = 10_000

const BUSY_STATUS = 409

/** Lists the workers whose profiles are in the response. */
const WORKERS_HEADER = 'x-gateway-workers'

type TakeProfile = (worker: WorkerEndpoints) => Promise<WorkerResponse>

export function createAggregatedProfileEndpoints(
  workers: WorkerSet,
  own: ProfileSource,
  platform: NodeJS.Platform,
): EndpointTable {
  let state: 'idle' | 'busy' = 'idle'
  const runExclusively = async (
    response: ServerResponse,
    work: () => Promise<void>,
  ): Promise<void> => {
    if (state === 'busy') return sendProfile(response, null)
    state = 'busy'
    try {
      await work()
    } finally {
      state = 'idle'
    }
  }
  const aggregate = (path: string, local: EndpointHandler): EndpointHandler => {
    return async (request, response, url) => {
      const { search, searchParams } = url
      const worker = searchParams.get('worker')
      if (worker === 'supervisor') return local(request, response, url)
      const targets = workers.newestPerSlot.filter(
        ({ slot }) => worker === null || worker === String(slot),
      )
      if (targets.length === 0)
        return sendText(response, 404, describeUnknownWorker(worker, workers))
      const numbers = parseCpuParameters(searchParams)
      const isHeap = path.endsWith('/heap')
      if (!isHeap && typeof numbers === 'string') return sendText(response, 400, numbers)
      const ms =
        isHeap || typeof numbers === 'string' ? HEAP_MS : numbers.seconds * 1_000 + GRACE_MS
      const signal = abortWhenClosed(response)
      const workerRequest: WorkerRequest = { path: path + search, ms, signal }
      const take: TakeProfile = ({ admin }) => requestWorker(admin, workerRequest)
      await runExclusively(response, () => sendMergedProfile(response, targets, take))
    }
  }
  const paths = Object.entries(createPprofEndpoints(own, platform))
  return Object.fromEntries(
    paths.map(([path, { GET: local }]) => [path, { GET: aggregate(path, local!) }]),
  )
}

async function sendMergedProfile(
  response: ServerResponse,
  workers: readonly WorkerEndpoints[],
  take: TakeProfile,
): Promise<void> {
  const set = new WorkerSet()
  for (const worker of workers) set.add(worker)
  const results = await set.all(take)
  const answers = results.filter((result) => 'value' in result)
  if (answers.some(({ value }) => value.status === BUSY_STATUS)) return sendProfile(response, null)
  const taken = answers.filter(({ value }) => value.status === 200)
  if (taken.length === 0) return sendText(response, 502, describeProblems(results))
  const bodies = taken.map(({ value }) => value.body)
  // Imported here because most processes are never profiled.
  const { mergeProfiles } = await import('../../admin/pprof/pprof-file.ts')
  const profile = bodies.length === 1 ? bodies[0]! : await mergeProfiles(bodies)
  response.setHeader(WORKERS_HEADER, taken.map(({ worker }) => worker.slot).join(', '))
  sendProfile(response, profile)
}

function describeProblems(results: Awaited<ReturnType<WorkerSet['all']>>): string {
  return results
    .map((result) => {
      const reason =
        'problem' in result ? result.problem : `answered ${(result.value as WorkerResponse).status}`
      return `worker ${result.worker.slot}: ${reason}`
    })
    .join('\n')
}

function describeUnknownWorker(worker: string | null, workers: WorkerSet): string {
  const slots = workers.newestPerSlot.map(({ slot }) => slot)
  if (worker === null) return 'no worker runs'
  return `no such worker: ${worker.slice(0, 32)}; expected ${['supervisor', ...slots].join(', ')}`
}
