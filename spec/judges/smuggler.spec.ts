// The templates of the tool smuggler: a transfer coding that is written in hundreds of unusual ways, with and without a length.
// The gateway refuses each, or forwards one request that all servers read alike.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage, routeTo } from '../support/gateway.ts'
import { RawClient } from '../support/raw-client.ts'
import { Recorder } from '../support/smuggling/recorder.ts'

const judge = suite('judges/smuggler')
const stage = new Stage()
judge.after.each(() => stage.clear())

const AT_ONCE = 16
const TIMES = 'frontendPolicies: { http: { bodyIdleTimeout: 500ms, headTimeout: 500ms } }\n'
const HIDDEN = 'GET /hidden HTTP/1.1\r\nhost: a\r\n\r\n'
const EMPTY = '0\r\n\r\n'

const FIXED = [
  'Transfer-Encoding: chunked',
  ' Transfer-Encoding: chunked',
  'Transfer-Encoding\t:\tchunked',
  'Transfer Encoding: chunked',
  'Transfer_Encoding: chunked',
  'Transfer-Encoding:chunked',
  'Transfer-Encoding:  chunked',
  'Transfer-Encoding: chunked, cow',
  'Transfer-Encoding: cow, chunked',
  'Transfer-Encoding: cow chunked bar',
  'Content-Encoding: chunked',
  'Transfer-Encoding:\n chunked',
  'Transfer-Encoding:\r\n chunked',
  'Transfer-Encoding: "chunked"',
  "Transfer-Encoding: 'chunked'",
  'Transfer-Encoding: chunk',
  'TrAnSFer-EnCODinG: cHuNkeD',
  'Transfer-Encoding: cow\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: cow',
  'Transfer\r-Encoding: chunked',
  'Transfer-Encoding: ch\x96nked',
  'Transf\x82r-Encoding: chunked',
]

/** Where smuggler puts one unusual byte. */
const PLACES: ((byte: string) => string)[] = [
  (byte) => `Transfer-Encoding:${byte}chunked`,
  (byte) => `Transfer-Encoding${byte}: chunked`,
  (byte) => `${byte}Transfer-Encoding: chunked`,
  (byte) => `Transfer-Encoding: chunked${byte}`,
  (byte) => `X: X${byte}Transfer-Encoding: chunked`,
  (byte) => `Transfer-Encoding: chunked${byte}X: X`,
  (byte) => `X: X\r${byte}Transfer-Encoding: chunked`,
  (byte) => `X: X${byte}\nTransfer-Encoding: chunked`,
  (byte) => `Transfer-Encoding: chunked\r${byte}X: X`,
  (byte) => `Transfer-Encoding: chunked${byte}\nX: X`,
]

function listTemplates(): string[] {
  const bytes: number[] = []
  for (let code = 0; code <= 0x20; code++) bytes.push(code)
  for (let code = 0x7f; code <= 0xff; code++) bytes.push(code)
  const moved = bytes.flatMap((code) => PLACES.map((put) => put(String.fromCharCode(code))))
  return [...FIXED, ...moved]
}

/** Both forms of an attack: the body ends by its chunks, or by a length that includes another request. */
function listRequests(template: string, target: string): string[] {
  const head = `POST ${target} HTTP/1.1\r\nhost: a\r\n${template}\r\n`
  const length = `content-length: ${EMPTY.length + HIDDEN.length}\r\n`
  return [`${head}\r\n${EMPTY}`, `${head}${length}\r\n${EMPTY}${HIDDEN}`]
}

/** Sends the bytes on their own connection, and returns the numbers of the requests that were answered on it. */
async function send(port: number, bytes: string): Promise<number[]> {
  const client = await RawClient.connect(port)
  client.send(`${bytes}GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)
  const text = await client.untilClosed()
  client.destroy()
  return [...text.matchAll(/^seen (\d+) /gm)].map(([, number]) => Number(number))
}

judge('no template makes the gateway forward what servers read differently', async () => {
  const backend = stage.add(await Recorder.start())
  const { port } = await stage.gateway(TIMES + routeTo(backend))
  const requests = listTemplates().flatMap((template, i) => listRequests(template, `/t${i}`))
  assert.ok(requests.length > 3_000)
  const answered = new Set<number>()
  const next = requests.values()
  const worker = async (): Promise<void> => {
    for (const bytes of next) for (const number of await send(port, bytes)) answered.add(number)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  assert.equal(
    backend.requests.filter(({ target }) => target === '/hidden'),
    [],
  )
  assert.equal(backend.ambiguous, [])
  assert.equal(
    backend.requests.filter(({ number }) => !answered.has(number)),
    [],
    'every request at the backend was answered to its sender',
  )
})

judge.run()
