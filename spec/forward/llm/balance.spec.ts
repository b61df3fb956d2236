// Random actions of clients and providers: at the end the budget is reduced by exactly the cost in the log.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gzipSync } from 'node:zlib'
import { Stage } from '../../support/gateway.ts'
import type { Line, RunningGateway } from '../../support/gateway.ts'
import { answers, chatEventsOf, chatOf, LlmBackend } from '../../support/llm-backend.ts'
import type { LlmAnswer } from '../../support/llm-backend.ts'
import { CHAT, chatAsking, remainingTokens, tokens } from '../../support/llm/asking.ts'

const balance = suite('balance of LLM budgets')
const stage = new Stage()
balance.after.each(() => stage.clear())

const BUDGET = 10_000_000
const REQUESTS = 160
const AT_ONCE = 8

/** The same random numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >>> 8) % below
  }
}

type Pick = ReturnType<typeof numbers>

/** Sends its events and closes the connection after one of them. */
function cutsAfter(events: readonly string[], count: number): LlmAnswer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events.slice(0, count)) response.write(event)
    setImmediate(() => response.destroy())
  }
}

function anyAnswer(pick: Pick): LlmAnswer {
  const [input, output] = [pick(500), pick(500)]
  const events = chatEventsOf(input, output)
  const table: (() => LlmAnswer)[] = [
    () => answers.events(events),
    () => answers.events(events),
    () => answers.json(chatOf(input, output)),
    () => answers.json(chatOf(input, output), {}, 'gzip'),
    () => answers.events([gzipSync(events.join(''))], { 'content-encoding': 'gzip' }),
    () => answers.fails(500),
    () => answers.fails(429),
    () => answers.fails(400),
    () => answers.hangsUp(),
    () => cutsAfter(events, pick(events.length)),
    () => answers.json('{"choices":[]}'),
  ]
  return table[pick(table.length)]!()
}

/** One client: sends a whole body, half of it or invalid JSON, and reads to the end or closes the connection. */
async function act(gateway: RunningGateway, pick: Pick): Promise<void> {
  const client = await stage.client(gateway)
  const body = chatAsking({
    stream: pick(3) > 0,
    max_tokens: pick(1000),
    x: 'x'.repeat(pick(9000)),
  })
  const isChunked = pick(2) === 0
  const length = isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`
  client.send(`POST ${CHAT} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${length}\r\n\r\n`)
  const at = pick(body.length)
  const sent = pick(12) === 0 ? body.replace('"model"', '"model":}') : body
  const parts = [sent.slice(0, at), sent.slice(at)].map((part) =>
    isChunked && part !== '' ? `${part.length.toString(16)}\r\n${part}\r\n` : part,
  )
  if (isChunked) parts.push('0\r\n\r\n')
  const leavesAt = pick(4) === 0 ? pick(parts.length) : parts.length
  await client.sendApart(parts.slice(0, leavesAt).map((part) => Buffer.from(part)))
  if (leavesAt < parts.length) return client.destroy()
  if (pick(4) > 0) return void (await client.untilClosed())
  for (let turns = pick(6); turns > 0; turns--)
    await new Promise((resolve) => setImmediate(resolve))
  client.reset()
}

function spentIn(line: Line): number {
  const estimated = line['gen_ai.usage.estimated']
  if (estimated !== undefined) return Number(estimated)
  const { 'gen_ai.usage.input_tokens': input = 0, 'gen_ai.usage.output_tokens': output = 0 } = line
  return Number(input) + Number(output)
}

for (const policies of [
  tokens(BUDGET),
  `retry: { attempts: 2, codes: [500], backoff: 1ms }, ${tokens(BUDGET)}`,
  `ai: { modelAliases: { m: n } }, ${tokens(BUDGET)}`,
])
  balance(`holds with ${policies.slice(0, 24)}`, async () => {
    const pick = numbers(policies.length)
    const any: LlmAnswer = (request, response) => anyAnswer(pick)(request, response)
    const backends = [await LlmBackend.start(any), await LlmBackend.start(any)]
    const groups = backends.map((backend, at) => {
      stage.add(backend)
      return `{ providers: [{ name: p${at}, provider: { openAI: {} }, hostOverride: "127.0.0.1:${backend.port}" }] }`
    })
    const ai = `{ ai: { groups: [${groups.join(', ')}] } }`
    const gateway = await stage.gateway(
      `routes: [{ backends: [${ai}], policies: { ${policies} } }]`,
    )
    const acts = async (): Promise<void> => {
      for (let left = REQUESTS / AT_ONCE; left > 0; left--) await act(gateway, pick)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, acts))
    const lines = await gateway.logged(REQUESTS)
    assert.is(lines.length, REQUESTS)
    const spent = lines.map(spentIn).reduce((sum, tokens) => sum + tokens, 0)
    assert.ok(spent > 0)
    assert.is(BUDGET - remainingTokens(gateway), spent)
  })

balance.run()
