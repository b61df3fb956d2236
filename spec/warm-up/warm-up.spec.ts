// A gateway that serves itself: all it asks for is answered, it ends when it is told, and nothing of it stays.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseConfig } from '../../lib/base/config/load.ts'
import type { Config } from '../../lib/base/config/types.ts'
import { Backend } from '../../lib/warm-up/backend.ts'
import { CHAT_PATH, PLAIN_PATH, Stage } from '../../lib/warm-up/stage.ts'
import { visit } from '../../lib/warm-up/visit.ts'
import { warmUp } from '../../lib/warm-up/warm-up.ts'
import { deadline } from '../support/deadline.ts'

const WAIT_MS = 30_000
const warming = suite('warm-up')

const HEAD = 'gateways: { default: { port: 1 } }\n'
const PLAIN = `${HEAD}routes: [{ backends: [{ host: '127.0.0.1:1' }] }]`
const CHATS = `${HEAD}routes: [{ backends: [{ ai: { name: one, provider: { mock: {} } } }] }]`

function configOf(text: string): Config {
  return parseConfig(text, { file: 'c.yaml', env: {} })
}

/** Sockets and servers of this process. */
function open(): number {
  return process.getActiveResourcesInfo().filter((kind) => /^(TCP|Pipe)/.test(kind)).length
}

for (const path of [PLAIN_PATH, CHAT_PATH])
  warming(`whoever comes to ${path} is served, by each gateway`, async () => {
    const stage = await deadline(Stage.set(configOf(CHATS)), WAIT_MS, 'a stage')
    try {
      const ports = [stage.nextPort(), stage.nextPort()]
      assert.is.not(ports[0], ports[1])
      for (const port of ports) await deadline(visit(port, path), WAIT_MS, 'a visit')
    } finally {
      await deadline(stage.clear(), WAIT_MS, 'an empty stage')
    }
  })

warming('who is not served says so', async () => {
  const stage = await deadline(Stage.set(configOf(PLAIN)), WAIT_MS, 'a stage')
  const port = stage.nextPort()
  const refused = async (path: string): Promise<string> => {
    const visited = visit(port, path).then(
      () => 'served',
      (error: Error) => error.message,
    )
    return deadline(visited, WAIT_MS, 'a visit')
  }
  assert.is(await refused('/elsewhere'), 'HTTP/1.1 404 Not Found')
  await deadline(stage.clear(), WAIT_MS, 'an empty stage')
  assert.match(await refused(PLAIN_PATH), 'ECONNREFUSED')
})

warming('its backend answers as long as it is open', async () => {
  const backend = await deadline(Backend.open(), WAIT_MS, 'a backend')
  await deadline(visit(backend.port, PLAIN_PATH), WAIT_MS, 'a visit')
  backend.close()
})

for (const [name, text] of Object.entries({ 'plain routes': PLAIN, chats: CHATS }))
  warming(`with ${name} it goes on until it is not wanted, and leaves nothing open`, async () => {
    const before = open()
    let asked = 0
    let most = 0
    const isWanted = (): boolean => {
      most = Math.max(most, open())
      return ++asked < 6
    }
    await deadline(warmUp(configOf(text), isWanted), WAIT_MS, 'the end of it')
    assert.is(asked, 6)
    assert.ok(most > before, `${most} open`)
    await deadline(closed(before), WAIT_MS, 'all to be closed')
  })

/** What was closed is gone a turn later. */
async function closed(before: number): Promise<void> {
  while (open() > before) await new Promise((resolve) => setTimeout(resolve, 5))
}

warming.run()
