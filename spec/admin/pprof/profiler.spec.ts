// Profiles of this process: they contain our functions, files and lines, and one is taken at a time.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { V8Profilers } from '../../../lib/admin/pprof/profiler.ts'
import { deadline } from '../../support/deadline.ts'
import { readProfile } from '../../support/pprof.ts'
import type { Read } from '../../support/pprof.ts'

const WAIT_MS = 60_000
const HERE = 'spec/admin/pprof/profiler.spec.ts'

const test = suite('admin/pprof')
let profilers = new V8Profilers()
test.before.each(() => {
  profilers = new V8Profilers()
})
test.after.each(() => profilers.close())

/** The result is kept, as the compiler drops work whose result is unused. */
let burnt = 0

function burnTheProcessor(): void {
  for (let at = 0; at < 200_000; at++) burnt += Math.sqrt(at) * Math.sin(at)
}

/** Works until it was sampled often enough, in pieces, like requests. */
async function busyUntil(over: () => boolean): Promise<void> {
  while (!over()) {
    burnTheProcessor()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const BURNING =
  /^(?:burnTheProcessor|busyUntil) \((spec\/admin\/pprof\/profiler\.spec\.ts)\) \1:\d+$/
/** Samples of the two functions above. */
const FIRST_LINE = 23
const LAST_LINE = 33

function isBurning({ frames }: Read['stacks'][number]): boolean {
  return BURNING.test(frames[0]!)
}

/** On a busy machine a profile may miss our function: then another is taken. */
async function cpuOfBurning(frequency: number): Promise<Read> {
  const last = performance.now() + WAIT_MS
  for (;;) {
    const read = await takenWhileBurning(frequency)
    if (read.stacks.some(isBurning) || performance.now() > last) return read
  }
}

async function takenWhileBurning(frequency: number): Promise<Read> {
  let state: 'taking' | 'taken' = 'taking'
  const { signal } = new AbortController()
  const profile = profilers.cpu({ seconds: 1, frequency, signal }).finally(() => (state = 'taken'))
  await deadline(
    busyUntil(() => state === 'taken'),
    WAIT_MS,
    'a profile',
  )
  const bytes = await deadline(profile, WAIT_MS, 'a profile')
  assert.ok(bytes !== null)
  return readProfile(bytes)
}

test('a CPU profile has our function, in our file, on a line inside it', async () => {
  const { types, stacks, period, duration } = await cpuOfBurning(200)
  assert.equal(types, ['samples/count', 'cpu/nanoseconds'])
  assert.is(period, 5_000_000)
  assert.ok(duration >= 0.9e9 && duration < 30e9, String(duration))
  // Node 24 inlines it, and reports the line of the caller.
  const burning = stacks.filter(isBurning)
  assert.ok(burning.length > 0, JSON.stringify(stacks.slice(0, 5)))
  const lines = burning.map(({ frames }) => Number(frames[0]!.split(':').at(-1)))
  for (const line of lines) assert.ok(line >= FIRST_LINE && line <= LAST_LINE, String(line))
})

test('its time is CPU time, without waiting', async () => {
  const { signal } = new AbortController()
  const idle = await deadline(
    profilers.cpu({ seconds: 1, frequency: 100, signal }),
    WAIT_MS,
    'an idle profile',
  )
  const { stacks, duration } = readProfile(idle!)
  const spent = stacks.reduce((sum, { values }) => sum + values[1]!, 0)
  // On a busy machine the little work takes longer, and so does the profile.
  assert.ok(spent < 0.7 * duration, `${spent} of ${duration}`)
  assert.not.ok(stacks.some(({ frames }) => frames[0]!.startsWith('(idle)')))
})

test('contains no path of this machine', async () => {
  const { stacks } = await cpuOfBurning(100)
  for (const { frames } of stacks)
    for (const frame of frames) assert.not.match(frame, /[ (]\/|file:|\.\.\//, frame)
})

test('takes one profile at a time, and the next when it is done', async () => {
  const leaving = new AbortController()
  const first = profilers.cpu({ seconds: 300, frequency: 100, signal: leaving.signal })
  assert.is(await profilers.cpu({ seconds: 1, frequency: 100, signal: leaving.signal }), null)
  assert.is(await profilers.heap(), null)
  // A client that leaves does not block it for five minutes.
  leaving.abort()
  assert.ok((await deadline(first, WAIT_MS, 'the end of a cancelled profile')) !== null)
  assert.ok((await deadline(profilers.heap(), WAIT_MS, 'a heap profile')) !== null)
})

/** Kept in one object, so that it is alive when the profile is taken. */
const kept: unknown[] = []

function keepMuch(): void {
  for (let at = 0; at < 400_000; at++) kept.push({ at, text: `text ${at}` })
}

test('a heap profile has the functions that allocated live objects', async () => {
  await deadline(profilers.startHeapSampling(), WAIT_MS, 'the sampler')
  keepMuch()
  const bytes = await deadline(profilers.heap(), WAIT_MS, 'a heap profile')
  const { types, stacks, period } = readProfile(bytes!)
  kept.length = 0
  assert.equal(types, ['inuse_objects/count', 'inuse_space/bytes'])
  assert.is(period, 524_288)
  const ours = stacks.filter(({ frames }) => frames[0]!.startsWith(`keepMuch (${HERE}) ${HERE}:`))
  const space = ours.reduce((sum, { values }) => sum + values[1]!, 0)
  assert.ok(space > 8e6 && space < 100e6, `${space}`)
})

test('without sampling a heap profile is empty but valid', async () => {
  const bytes = await deadline(profilers.heap(), WAIT_MS, 'a heap profile')
  assert.equal(readProfile(bytes!).stacks, [])
})

test.run()
