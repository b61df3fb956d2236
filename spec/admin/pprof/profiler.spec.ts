// Profiles of this very process: our functions, files and lines are in them, and one is taken at a time.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { V8Profilers } from '../../../lib/admin/pprof/profiler.ts'
import { deadline } from '../../support/deadline.ts'
import { readProfile } from '../../support/pprof.ts'
import type { Read } from '../../support/pprof.ts'

const WAIT_MS = 60_000
const HERE = 'spec/admin/pprof/profiler.spec.ts'

const profiling = suite('admin/pprof')
let profilers = new V8Profilers()
profiling.before.each(() => {
  profilers = new V8Profilers()
})
profiling.after.each(() => profilers.close())

/** What was burnt is kept: work whose result nobody wants is not done. */
let burnt = 0

function burnTheProcessor(): void {
  for (let at = 0; at < 200_000; at++) burnt += Math.sqrt(at) * Math.sin(at)
}

/** Until it has been seen often enough, in pieces, as requests come. */
async function busyUntil(over: () => boolean): Promise<void> {
  while (!over()) {
    burnTheProcessor()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const BURNING =
  /^(?:burnTheProcessor|busyUntil) \((spec\/admin\/pprof\/profiler\.spec\.ts)\) \1:\d+$/
/** Of the two functions above, in this file. */
const FIRST_LINE = 23
const LAST_LINE = 33

function isBurning({ frames }: Read['stacks'][number]): boolean {
  return BURNING.test(frames[0]!)
}

/** On a busy machine we may not have been seen: then another one is taken. */
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

profiling('a CPU profile has our function, in our file, on a line inside it', async () => {
  const { types, stacks, period, duration } = await cpuOfBurning(200)
  assert.equal(types, ['samples/count', 'cpu/nanoseconds'])
  assert.is(period, 5_000_000)
  assert.ok(duration >= 0.9e9 && duration < 30e9, String(duration))
  // Node 24 inlines it, and tells of the line that called it.
  const burning = stacks.filter(isBurning)
  assert.ok(burning.length > 0, JSON.stringify(stacks.slice(0, 5)))
  const lines = burning.map(({ frames }) => Number(frames[0]!.split(':').at(-1)))
  for (const line of lines) assert.ok(line >= FIRST_LINE && line <= LAST_LINE, String(line))
})

profiling('its time is that of the processor, and nothing of waiting', async () => {
  const { signal } = new AbortController()
  const idle = await deadline(
    profilers.cpu({ seconds: 1, frequency: 100, signal }),
    WAIT_MS,
    'an idle profile',
  )
  const { stacks, duration } = readProfile(idle!)
  const spent = stacks.reduce((sum, { values }) => sum + values[1]!, 0)
  // What little there is to do takes longer on a busy machine, and the profile with it.
  assert.ok(spent < 0.7 * duration, `${spent} of ${duration}`)
  assert.not.ok(stacks.some(({ frames }) => frames[0]!.startsWith('(idle)')))
})

profiling('names no path of this machine', async () => {
  const { stacks } = await cpuOfBurning(100)
  for (const { frames } of stacks)
    for (const frame of frames) assert.not.match(frame, /[ (]\/|file:|\.\.\//, frame)
})

profiling('one at a time; the next may come when it is over', async () => {
  const leaving = new AbortController()
  const first = profilers.cpu({ seconds: 300, frequency: 100, signal: leaving.signal })
  assert.is(await profilers.cpu({ seconds: 1, frequency: 100, signal: leaving.signal }), null)
  assert.is(await profilers.heap(), null)
  // Whoever leaves does not hold it up for five minutes.
  leaving.abort()
  assert.ok((await deadline(first, WAIT_MS, 'the end of a profile nobody waits for')) !== null)
  assert.ok((await deadline(profilers.heap(), WAIT_MS, 'a heap profile')) !== null)
})

/** Kept in one place, so that it is alive when it is looked for. */
const kept: unknown[] = []

function keepMuch(): void {
  for (let at = 0; at < 400_000; at++) kept.push({ at, text: `text ${at}` })
}

profiling('a heap profile has who allocated what is alive', async () => {
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

profiling('without a sampler a heap profile is empty, and can be read all the same', async () => {
  const bytes = await deadline(profilers.heap(), WAIT_MS, 'a heap profile')
  assert.equal(readProfile(bytes!).stacks, [])
})

profiling.run()
