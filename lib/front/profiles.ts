// /debug/pprof of all workers as one profile, or of one process: `?worker=2`, `?worker=supervisor`.

import type { ServerResponse } from 'node:http'
import { leaving, pprofEndpoints, secondsIn, sendProfile } from '../admin/pprof/endpoints.ts'
import type { ProfileSource } from '../admin/pprof/endpoints.ts'
import { answer } from '../admin/server.ts'
import type { Endpoints, Handler } from '../base/endpoints.ts'
import type { WorkerDoor } from '../workers/types.ts'
import { askAt } from './ask.ts'
import type { Answer, Question } from './ask.ts'
import { Crew } from './crew.ts'

/** What a profile may take beyond the time that is looked at: less than those who ask wait. */
const GRACE_MS = 8_000

/** A heap is looked at within a moment, but for one that is very large. */
const HEAP_MS = 10_000

const BUSY = 409

/** Whose profiles are in the answer. */
const WHOSE = 'x-gateway-workers'

type Take = (door: WorkerDoor) => Promise<Answer>

export function frontProfiles(
  crew: Crew,
  own: ProfileSource,
  platform: NodeJS.Platform,
): Endpoints {
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
  const over = (path: string, local: Handler): Handler => {
    return async (request, response, url) => {
      const { search, searchParams } = url
      const worker = searchParams.get('worker')
      if (worker === 'supervisor') return local(request, response, url)
      const doors = crew.newest.filter(({ slot }) => worker === null || worker === String(slot))
      if (doors.length === 0) return answer(response, 404, noSuch(worker, crew))
      const ms = path.endsWith('/heap') ? HEAP_MS : secondsIn(searchParams) * 1_000 + GRACE_MS
      const question: Question = { path: path + search, ms, signal: leaving(response) }
      const take: Take = ({ admin }) => askAt(admin, question)
      await alone(response, () => together(response, doors, take))
    }
  }
  const paths = Object.entries(pprofEndpoints(own, platform))
  return Object.fromEntries(
    paths.map(([path, { GET: local }]) => [path, { GET: over(path, local!) }]),
  )
}

async function together(
  response: ServerResponse,
  doors: readonly WorkerDoor[],
  take: Take,
): Promise<void> {
  const asked = new Crew()
  for (const door of doors) asked.add(door)
  const said = await asked.all(take)
  const answers = said.filter((one) => 'value' in one)
  if (answers.some(({ value }) => value.status === BUSY)) return sendProfile(response, null)
  const taken = answers.filter(({ value }) => value.status === 200)
  if (taken.length === 0) return answer(response, 502, reasonsOf(said))
  const bodies = taken.map(({ value }) => value.body)
  // Loaded when it is needed: most processes are never profiled.
  const { mergedPprof } = await import('../admin/pprof/merge.ts')
  const profile = bodies.length === 1 ? bodies[0]! : await mergedPprof(bodies)
  response.setHeader(WHOSE, taken.map(({ door }) => door.slot).join(', '))
  sendProfile(response, profile)
}

function reasonsOf(said: Awaited<ReturnType<Crew['all']>>): string {
  return said
    .map((one) => {
      const reason = 'problem' in one ? one.problem : `answered ${(one.value as Answer).status}`
      return `worker ${one.door.slot}: ${reason}`
    })
    .join('\n')
}

function noSuch(worker: string | null, crew: Crew): string {
  const slots = crew.newest.map(({ slot }) => slot)
  if (worker === null) return 'no worker runs'
  return `no such worker: ${worker.slice(0, 32)}; expected ${['supervisor', ...slots].join(', ')}`
}
