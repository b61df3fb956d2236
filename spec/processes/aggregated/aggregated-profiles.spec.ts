// Profiles of several workers merged into one, and of one process by its name.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { PprofBuilder } from '../../../lib/admin/pprof/pprof-file.ts'
import { WorkerSet } from '../../../lib/processes/aggregated/ask-workers.ts'
import { createAggregatedProfileEndpoints } from '../../../lib/processes/aggregated/aggregated-profiles.ts'
import { adminOn } from '../../support/admin.ts'
import { WorkerStage } from '../../support/worker-stage.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'
import { readProfile } from '../../support/pprof.ts'

const profiles = suite('aggregated/profiles')
const stage = new Stage()
profiles.after.each(() => stage.clear())

const WAIT_MS = 30_000

/** A stack of functions of one file, from the innermost frame outwards. */
async function profileOf(value: number, ...names: string[]): Promise<Buffer> {
  const builder = new PprofBuilder(['samples', 'count'], ['cpu', 'nanoseconds'])
  const stack = names.map((functionName, at) =>
    builder.locationOf({ functionName, url: 'node:x', lineNumber: at }),
  )
  builder.add(stack, [value, value * 10])
  return builder.finish(10, { startedAt: 1, duration: 2 })
}

interface Told {
  readonly status: number
  readonly workers: string | null
  readonly bytes: Buffer
}

type Get = (path: string) => Promise<Told>

/** Aggregated endpoints over workers with these answers: a profile, or a status. */
async function startProfiles(...answers: (Buffer | number)[]): Promise<[Get, string[]]> {
  const workers = new WorkerSet()
  const scripted = new WorkerStage(stage, '')
  const paths: string[] = []
  for (const [at, answer] of answers.entries())
    workers.add(
      await scripted.scripted(at + 1, ({ url = '' }, response) => {
        paths.push(url)
        if (answer === 0) return
        if (typeof answer === 'number') response.writeHead(answer).end()
        else response.end(answer)
      }),
    )
  const own = await profileOf(7, 'own')
  const source = { cpu: async () => own, heap: async () => own }
  const { port } = await adminOn(stage, createAggregatedProfileEndpoints(workers, source, 'linux'))
  const get: Get = async (path) => {
    const answer = await deadline(fetch(`http://127.0.0.1:${port}${path}`), WAIT_MS, path)
    const bytes = Buffer.from(await deadline(answer.arrayBuffer(), WAIT_MS, path))
    return { status: answer.status, workers: answer.headers.get('x-gateway-workers'), bytes }
  }
  return [get, paths]
}

profiles('merges the profiles of all workers, and equal locations into one', async () => {
  const [get, paths] = await startProfiles(
    await profileOf(1, 'inner', 'outer'),
    await profileOf(2, 'outer', 'inner'),
  )
  const { status, workers, bytes } = await get('/debug/pprof/profile?seconds=1&frequency=50')
  assert.is(status, 200)
  assert.is(workers, '1, 2')
  const { types, stacks, period, duration } = readProfile(bytes)
  assert.equal(types, ['samples/count', 'cpu/nanoseconds'])
  assert.is(period, 10)
  assert.is(duration, 2_000_000)
  assert.equal(
    stacks.map(({ values, frames }) => [values, frames.map((frame) => frame.split(' ')[0])]),
    [
      [
        [1, 10],
        ['inner', 'outer'],
      ],
      [
        [2, 20],
        ['outer', 'inner'],
      ],
    ],
  )
  assert.equal(paths, [
    '/debug/pprof/profile?seconds=1&frequency=50',
    '/debug/pprof/profile?seconds=1&frequency=50',
  ])
})

profiles('takes the profile of one worker or of the supervisor by its name', async () => {
  const [get] = await startProfiles(await profileOf(1, 'one'), await profileOf(2, 'two'))
  const two = await get('/debug/pprof/heap?worker=2')
  assert.is(two.workers, '2')
  assert.equal(readProfile(two.bytes).stacks[0]?.values, [2, 20])
  const own = await get('/debug/pprof/profile?worker=supervisor&seconds=1')
  assert.equal(readProfile(own.bytes).stacks[0]?.values, [7, 70])
  const none = await get('/debug/pprof/heap?worker=3')
  assert.is(none.status, 404)
  assert.is(none.bytes.toString(), 'no such worker: 3; expected supervisor, 1, 2\n')
})

profiles('names the workers in the profile when one has none', async () => {
  const [get] = await startProfiles(500, await profileOf(2, 'two'))
  assert.is((await get('/debug/pprof/heap')).workers, '2')
  const [getNone] = await startProfiles(500, 503)
  const { status, bytes } = await getNone('/debug/pprof/heap')
  assert.is(status, 502)
  assert.is(bytes.toString(), 'worker 1: answered 500\nworker 2: answered 503\n')
})

profiles('takes one profile at a time, in the supervisor and in each worker', async () => {
  const [get, paths] = await startProfiles(0)
  void get('/debug/pprof/heap').catch(() => {})
  while (paths.length === 0) await get('/nothing')
  assert.is((await get('/debug/pprof/heap')).status, 409)
  const [getBusy] = await startProfiles(409, await profileOf(1, 'one'))
  assert.is((await getBusy('/debug/pprof/heap')).status, 409)
})

profiles.run()
