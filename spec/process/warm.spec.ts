// When a process warms up, and what ends it.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { warmUpOf } from '../../lib/base/config/check/process.ts'
import { parseConfig } from '../../lib/base/config/load.ts'
import { warm } from '../../lib/process/warm.ts'
import type { WarmOptions } from '../../lib/process/warm.ts'
import { deadline } from '../support/deadline.ts'
import { Ear } from '../support/gateway.ts'
import type { Line } from '../support/gateway.ts'

const WAIT_MS = 30_000
const warming = suite('process/warm')

const ROUTES = 'gateways: { default: { port: 1 } }\nroutes: []'

const configOf = (written: string): WarmOptions['config'] =>
  parseConfig(`config: { ${written} }\n${ROUTES}`, { file: 'c.yaml', env: {} })

/** Its lines. */
async function told(options: Partial<WarmOptions>): Promise<Line[]> {
  const lines: Line[] = []
  const log = new Ear((line) => lines.push(line))
  const gateway = { readiness: 'ready', connections: 0 } as const
  const whole = { config: configOf(''), gateway, log, word: 'on' as const, ...options }
  await deadline(warm(whole), WAIT_MS, 'the end of it')
  return lines
}

function warmed(plain: number): Line {
  return { level: 'debug', message: 'warmed up', plain, chats: 0 }
}

/** True so many times. */
function times(left: number): () => boolean {
  return () => left-- > 0
}

warming('until many guests are there', async () => {
  const alone = times(3)
  const gateway: WarmOptions['gateway'] = {
    readiness: 'ready',
    get connections() {
      return alone() ? 7 : 8
    },
  }
  assert.equal(await told({ gateway }), [warmed(24)])
})

warming('until it is told to stop', async () => {
  const runs = times(2)
  const gateway: WarmOptions['gateway'] = {
    connections: 0,
    get readiness() {
      return runs() ? 'ready' : 'draining'
    },
  }
  assert.equal(await told({ gateway }), [warmed(16)])
})

warming('until nobody else serves', async () => {
  assert.equal(await told({ isServed: times(1) }), [warmed(8)])
})

warming('not when it is off, nor with few descriptors', async () => {
  assert.equal(await told({ word: 'off' }), [])
  assert.equal(await told({ descriptors: 255 }), [])
  assert.equal(await told({ descriptors: 256, isServed: times(1) }), [warmed(8)])
})

warming('a fault of it is told, and harms nobody', async () => {
  const isServed = (): boolean => {
    throw new Error('no loopback')
  }
  const line = { level: 'debug', message: 'cannot warm up', error: 'no loopback' }
  assert.equal(await told({ isServed }), [line])
})

warming('the environment wins over the file, and says on or off', () => {
  const [on, off] = [configOf('').process, configOf("warmUp: 'off'").process]
  assert.is(warmUpOf(on, {}), 'on')
  assert.is(warmUpOf(off, {}), 'off')
  assert.is(warmUpOf(on, { WARM_UP: 'off' }), 'off')
  assert.is(warmUpOf(off, { WARM_UP: 'on' }), 'on')
  for (const word of ['', 'no', 'OFF'])
    assert.throws(
      () => warmUpOf(off, { WARM_UP: word }),
      `WARM_UP: got '${word}', expected on or off`,
    )
})

warming.run()
