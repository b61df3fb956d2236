// The request vectors of the llhttp project, if a checkout of it is at `GATEWAY_LLHTTP`: the gateway forwards no request
// that the parser refuses.

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage, routeTo } from '../support/gateway.ts'
import { RawClient } from '../support/raw-client.ts'
import { reportSkip } from '../support/report-skip.ts'
import { Recorder } from '../support/smuggling/recorder.ts'

const judge = suite('judges/llhttp')
const stage = new Stage()
judge.after.each(() => stage.clear())

const CHECKOUT = process.env['GATEWAY_LLHTTP']
const TIMES =
  'frontendPolicies: { http: { bodyIdleTimeout: 300ms, headTimeout: 300ms, http1IdleTimeout: 300ms } }\n'
const AT_ONCE = 16

interface LlhttpVector {
  readonly name: string
  readonly bytes: string
  /** The complete messages that llhttp finds before an error. */
  readonly messages: number
}

/** A vector is a comment with its type, a block with the request and a block with the expected events. */
const VECTOR =
  /<!--\s*meta=\{\s*"type":\s*"request"[^}]*\}\s*-->\n+```http\n((?:(?!\n```)[^])*)\n```\n[^`]*```log\n((?:(?!\n```)[^])*)\n```/g

function readVectors(folder: string): LlhttpVector[] {
  return readdirSync(folder).flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    return [...text.matchAll(VECTOR)].map(([, request = '', log = ''], at) => ({
      name: `${file} ${at}`,
      bytes: addHost(toBytes(request)),
      messages: log.match(/ message complete$/gm)?.length ?? 0,
    }))
  })
}

/** As the project's own runner does it: lines end in CRLF unless escaped, and bytes may be written as escapes. */
function toBytes(request: string): string {
  return request
    .replaceAll(/\\\n/g, '')
    .replaceAll('\n', '\r\n')
    .replaceAll('\\r', '\r')
    .replaceAll('\\n', '\n')
    .replaceAll('\\t', '\t')
    .replaceAll('\\f', '\f')
    .replaceAll(/\\x([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}

/** Most vectors have no Host, without which the gateway would refuse them all. */
function addHost(bytes: string): string {
  return /\nhost\s*:/i.test(bytes) ? bytes : bytes.replace('\r\n', '\r\nHost: a\r\n')
}

async function send(port: number, bytes: string): Promise<string> {
  const client = await RawClient.connect(port)
  client.send(Buffer.from(bytes, 'latin1'))
  const text = await client.untilClosed()
  client.destroy()
  return text
}

if (CHECKOUT !== undefined && existsSync(join(CHECKOUT, 'test/request'))) {
  judge('forwards no request that llhttp refuses', async () => {
    const vectors = readVectors(join(CHECKOUT, 'test/request'))
    assert.ok(vectors.length > 80, `${vectors.length} vectors`)
    const wrong: string[] = []
    const next = vectors.values()
    const worker = async (): Promise<void> => {
      const backend = stage.add(await Recorder.start())
      const { port } = await stage.gateway(TIMES + routeTo(backend))
      for (const { name, bytes, messages } of next) {
        const from = backend.requests.length
        await send(port, bytes)
        const count = backend.requests.length - from
        if (count > messages) wrong.push(`${name}: ${count} forwarded, ${messages} messages`)
      }
      assert.equal(backend.ambiguous, [])
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    assert.equal(wrong, [])
  })
} else reportSkip('the vectors of llhttp', 'GATEWAY_LLHTTP names no checkout of nodejs/llhttp')

judge.run()
