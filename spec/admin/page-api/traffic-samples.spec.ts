// Samples: differences of totals, a limited history, and an injected clock.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RequestTotals } from '../../../lib/core/traffic-totals.ts'
import type { CurrentLoad } from '../../../lib/core/runtime-views.ts'
import type { Sample } from '../../../lib/admin/page-api/page-api-types.ts'
import { HISTORY_MS, Sampler } from '../../../lib/admin/page-api/traffic-samples.ts'

const test = suite('ui/sampler')

class World {
  readonly totals = new RequestTotals()
  now = 100
  cpu = 50
  pulse: CurrentLoad = { connections: 0, requests: 0, streams: 0, bytesIn: 0, bytesOut: 0 }
  readonly sampler = new Sampler(
    { totals: this.totals, pulse: () => this.pulse },
    {
      now: () => this.now,
      time: () => 1_000_000 + this.now,
      rss: () => 4096,
      cpu: () => this.cpu,
    },
  )

  /** A sample after this many milliseconds. */
  after(ms: number): Sample {
    this.now += ms
    return this.sampler.take()
  }
}

test('has the differences of the interval, and the load at its end', () => {
  const world = new World()
  Object.assign(world.totals, { requests: 10, errors: 1, refused: 2, tokensIn: 30, tokensOut: 40 })
  world.totals.firstBytes.add(8)
  world.totals.firstTokens.add(200)
  world.cpu += 251
  world.pulse = { connections: 3, requests: 2, streams: 1, bytesIn: 500, bytesOut: 700 }
  const first = world.after(1004)
  assert.is(first.at, 1_001_104)
  assert.is(first.span, 1004)
  const { requests, errors, refused, tokensIn, tokensOut, bytesIn, bytesOut } = first
  const sums = [requests, errors, refused, tokensIn, tokensOut, bytesIn, bytesOut]
  assert.equal(sums, [10, 1, 2, 30, 40, 500, 700])
  assert.equal([first.connections, first.openRequests, first.openStreams], [3, 2, 1])
  assert.ok(first.p50! > 7 && first.p50! < 9)
  assert.ok(first.p99! > 7 && first.p99! < 9)
  assert.ok(first.firstToken! > 180 && first.firstToken! < 220)
  assert.equal([first.rss, first.cpu], [4096, 0.25])
  const second = world.after(1000)
  assert.equal([second.requests, second.tokensIn, second.bytesIn, second.cpu], [0, 0, 0, 0])
  assert.equal([second.p50, second.p99, second.firstToken], [null, null, null])
  assert.is(second.connections, 3)
})

test('has no negative bytes when a port is closed', () => {
  const world = new World()
  world.pulse = { ...world.pulse, bytesIn: 900, bytesOut: 900 }
  world.after(1000)
  world.pulse = { ...world.pulse, bytesIn: 20, bytesOut: 1000 }
  const { bytesIn, bytesOut } = world.after(1000)
  assert.equal([bytesIn, bytesOut], [0, 100])
})

test('keeps the last five minutes, the oldest first', () => {
  const world = new World()
  const maxSamples = HISTORY_MS / 1000
  for (let second = 0; second < maxSamples + 5; second++) {
    world.totals.requests += second
    world.after(1000)
  }
  const { samples } = world.sampler
  assert.is(samples.length, maxSamples)
  assert.equal([samples[0]!.requests, samples.at(-1)!.requests], [5, maxSamples + 4])
  for (let count = 0; count < 2 * maxSamples; count++) world.after(5_000)
  assert.is(samples.length, maxSamples / 5)
  for (let count = 0; count < 10 * maxSamples; count++) world.after(1)
  assert.ok(samples.length < 2 * maxSamples)
})

test('starts again after a stop, without the traffic in between', () => {
  const world = new World()
  world.totals.requests = 5
  world.after(1000)
  world.sampler.clear()
  assert.equal(world.sampler.samples, [])
  world.totals.requests = 500
  world.totals.firstBytes.add(8)
  world.cpu += 900
  world.now += 60_000
  world.sampler.begin()
  world.totals.requests++
  const { span, requests, p50, cpu } = world.after(1000)
  assert.equal({ span, requests, p50, cpu }, { span: 1000, requests: 1, p50: null, cpu: 0 })
})

test.run()
