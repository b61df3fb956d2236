// A gateway that serves itself: all it asks for is answered, it ends when it is told, and nothing of it stays.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseConfig } from '../../lib/base/config/load.ts'
import type { Config } from '../../lib/base/config/types.ts'
import { ChatBackend } from '../../lib/warm-up/backend.ts'
import { CHAT_PATH, PLAIN_PATH, Rehearsal } from '../../lib/warm-up/rehearsal.ts'
import { visit } from '../../lib/warm-up/visit.ts'
import { warmUp } from '../../lib/warm-up/warm-up.ts'
import { deadline } from '../support/deadline.ts'
import { RawClient } from '../support/raw-client.ts'
import { until } from '../support/until.ts'

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
    const rehearsal = await deadline(Rehearsal.begin(configOf(CHATS)), WAIT_MS, 'a rehearsal')
    try {
      const ports = [rehearsal.nextPort(), rehearsal.nextPort()]
      assert.is.not(ports[0], ports[1])
      for (const port of ports) await deadline(visit(port, path), WAIT_MS, 'a visit')
    } finally {
      await deadline(rehearsal.end(), WAIT_MS, 'its end')
    }
  })

warming('who is not served says so', async () => {
  const rehearsal = await deadline(Rehearsal.begin(configOf(PLAIN)), WAIT_MS, 'a rehearsal')
  const port = rehearsal.nextPort()
  const refused = async (path: string): Promise<string> => {
    const visited = visit(port, path).then(
      () => 'served',
      (error: Error) => error.message,
    )
    return deadline(visited, WAIT_MS, 'a visit')
  }
  assert.is(await refused('/elsewhere'), 'HTTP/1.1 404 Not Found')
  await deadline(rehearsal.end(), WAIT_MS, 'its end')
  assert.match(await refused(PLAIN_PATH), 'ECONNREFUSED')
})

warming('its backend answers until it is closed', async () => {
  const backend = await deadline(ChatBackend.open(), WAIT_MS, 'a backend')
  await deadline(visit(backend.port, PLAIN_PATH), WAIT_MS, 'a visit')
  backend.close()
  const refused = visit(backend.port, PLAIN_PATH).catch((error: Error) => error.message)
  assert.match(String(await deadline(refused, WAIT_MS, 'a visit')), 'ECONNREFUSED')
})

warming('strangers who stall there are not waited for', async () => {
  const rehearsal = await deadline(Rehearsal.begin(configOf(PLAIN)), WAIT_MS, 'a rehearsal')
  const stranger = await RawClient.connect(rehearsal.nextPort())
  stranger.send(`POST ${PLAIN_PATH} HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nabc`)
  // Behind it: what was sent there first is known there by now.
  await deadline(visit(rehearsal.nextPort(), PLAIN_PATH), WAIT_MS, 'a visit')
  await deadline(visit(rehearsal.nextPort(), PLAIN_PATH), WAIT_MS, 'a visit')
  await deadline(rehearsal.end(), WAIT_MS / 3, 'its end, before those 30 s of other gateways')
  stranger.socket.destroy()
})

for (const [name, text, chats] of [
  ['plain routes', PLAIN, 0],
  ['chats', CHATS, 16],
] as const)
  warming(`with ${name} it goes on until it is not wanted, and leaves nothing open`, async () => {
    const before = open()
    let most = 0
    let left = chats === 0 ? 2 : 4
    const isWanted = (): boolean => {
      most = Math.max(most, open())
      return left-- > 0
    }
    const warmth = await deadline(warmUp(configOf(text), isWanted), WAIT_MS, 'the end of it')
    assert.equal(warmth, { plain: 16, chats })
    assert.ok(most > before, `${most} open`)
    await until('all to be closed', () => open() <= before)
  })

warming('it is over when its time is', async () => {
  let clock = 0
  const now = (): number => (clock += 1_000)
  const warmth = await deadline(
    warmUp(configOf(PLAIN), () => true, now),
    WAIT_MS,
    'the end of it',
  )
  assert.equal(warmth, { plain: 40, chats: 0 })
})

warming.run()
