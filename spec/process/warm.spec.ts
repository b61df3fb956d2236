// When a process warms up, and what ends it.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseConfig } from '../../lib/base/config/load.ts'
import type { Gateway } from '../../lib/gateway.ts'
import { warm } from '../../lib/process/warm.ts'
import type { Start } from '../../lib/process/start.ts'
import { deadline } from '../support/deadline.ts'
import { Ear } from '../support/gateway.ts'

const WAIT_MS = 30_000
const warming = suite('process/warm')

interface Case {
  readonly written?: 'on' | 'off'
  readonly env?: 'on' | 'off'
  /** What it looks at, again and again. */
  readonly gateway: Pick<Gateway, 'readiness' | 'connections'>
}

/** The messages of its log. */
async function told({ written, env, gateway }: Case): Promise<string[]> {
  const messages: string[] = []
  const log = new Ear(({ message }) => messages.push(String(message)))
  const word = written === undefined ? '' : `warmUp: '${written}'`
  const config = parseConfig(
    `config: { ${word} }\ngateways: { default: { port: 1 } }\nroutes: []`,
    {
      file: 'c.yaml',
      env: {},
    },
  )
  const start = { env: { WARM_UP: env } } as unknown as Start
  const cold = { config, gateway: gateway as Gateway, log }
  await deadline(warm(start, cold), WAIT_MS, 'the end of it')
  return messages
}

/** Alone at first, and then with so many. */
function visited(connections: number, after = 3): Case['gateway'] & { looks: number } {
  return {
    looks: 0,
    readiness: 'ready',
    get connections() {
      return ++this.looks > after ? connections : 0
    },
  }
}

warming('unless told otherwise, until many guests are there', async () => {
  const gateway = visited(8)
  assert.equal(await told({ gateway }), ['warmed up'])
  assert.is(gateway.looks, 4)
})

warming('not when it is off, in the file or in the environment, which wins', async () => {
  const gateway = visited(8)
  assert.equal(await told({ written: 'off', gateway }), [])
  assert.equal(await told({ env: 'off', gateway }), [])
  assert.equal(await told({ written: 'on', env: 'off', gateway }), [])
  assert.is(gateway.looks, 0)
  assert.equal(await told({ written: 'off', env: 'on', gateway }), ['warmed up'])
})

warming('a stop ends it', async () => {
  const gateway = { readiness: 'draining', connections: 0 } as const
  assert.equal(await told({ gateway }), ['warmed up'])
})

warming('a fault of it is told, and harms nobody', async () => {
  const gateway = {
    connections: 0,
    get readiness(): 'ready' {
      throw new Error('no loopback')
    },
  }
  assert.equal(await told({ gateway }), ['cannot warm up'])
})

warming.run()
