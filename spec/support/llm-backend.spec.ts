// Tests of the scripted LLM provider that the specs of LLM traffic use.

import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from './deadline.ts'
import { answers, chatEventsOf, chatOf, LlmBackend, LlmStream } from './llm-backend.ts'
import type { LlmAnswer } from './llm-backend.ts'

const WAIT_MS = 30_000
const double = suite('support/llm-backend')
const backends: LlmBackend[] = []
double.after.each(async () => {
  for (const backend of backends.splice(0)) await backend.close()
})

async function start(...queue: LlmAnswer[]): Promise<LlmBackend> {
  const backend = await LlmBackend.start(...queue)
  backends.push(backend)
  return backend
}

async function soon<T>(promise: Promise<T>): Promise<T> {
  return deadline(promise, WAIT_MS, 'an answer')
}

/** Uses fetch, which decodes bodies and rejects truncated ones. */
async function post({ port }: LlmBackend, content: unknown): Promise<Response> {
  const body = JSON.stringify(content)
  return soon(fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: 'POST', body }))
}

double('answers requests in order, and repeats the last answer', async () => {
  const failing = answers.fails(429, { 'retry-after': '7' })
  const backend = await start(failing, answers.json(chatOf(3, 4)))
  const limited = await post(backend, { model: 'a' })
  assert.is(limited.status, 429)
  assert.is(limited.headers.get('retry-after'), '7')
  await soon(limited.text())
  for (const model of ['b', 'c'])
    assert.equal(await soon((await post(backend, { model })).json()), chatOf(3, 4))
  const models = backend.requests.map(({ json }) => json['model'])
  assert.equal(models, ['a', 'b', 'c'])
  const heard = await backend.completeRequest(3)
  assert.is(heard.target, '/v1/chat/completions')
  assert.is(heard.text, '{"model":"c"}')
})

double('records a request before it is complete', async () => {
  const backend = await start(answers.json({}))
  const client = httpRequest({ port: backend.port, host: '127.0.0.1', method: 'POST' })
  client.on('error', () => {})
  client.write('{"model"')
  const request = await backend.requestHead(1)
  await request.received(8)
  assert.is(request.text, '{"model"')
  assert.is(request.state, 'coming')
  client.destroy()
  await request.whole()
  assert.is(request.state, 'gone')
})

double('sends a stream in pieces', async () => {
  for (const encoding of ['identity', 'gzip'] as const) {
    const stream = new LlmStream({ 'x-a': 'b' }, encoding)
    const backend = await start(stream.answer)
    const { headers, body } = await post(backend, {})
    assert.is(headers.get('x-a'), 'b')
    const reader = body!.getReader()
    for (const piece of chatEventsOf(1, 2)) {
      await stream.send(piece)
      const { value } = await soon(reader.read())
      assert.is(Buffer.from(value!).toString(), piece)
    }
    stream.end()
    assert.is((await soon(reader.read())).done, true)
    assert.is((await post(backend, {})).status, 599)
  }
})

double('cuts a stream, and detects a client that disconnects', async () => {
  const [cut, left] = [new LlmStream(), new LlmStream()]
  const backend = await start(cut.answer, left.answer)
  const answer = await post(backend, {})
  await cut.send('data: 1\n\n')
  cut.cut()
  try {
    await soon(answer.text())
    assert.unreachable('the stream ended cleanly')
  } catch (error) {
    assert.instance(error, TypeError)
  }
  const reader = (await post(backend, {})).body!.getReader()
  await left.opened()
  await soon(reader.cancel())
  await left.left()
})

double('refuses only requests with stream_options', async () => {
  const events = answers.events(chatEventsOf(1, 2))
  const backend = await start(answers.refusesUsage(events))
  const refused = await post(backend, { stream_options: {} })
  assert.is(refused.status, 400)
  assert.match(await soon(refused.text()), 'stream_options')
  const content = await soon((await post(backend, {})).text())
  assert.is(content, chatEventsOf(1, 2).join(''))
})

double('answers after a promise resolves, with gzip if requested', async () => {
  let release = (): void => {}
  const until = new Promise<void>((resolve) => (release = resolve))
  const held = answers.held(until, answers.json(chatOf(1, 1), {}, 'gzip'))
  const backend = await start(held)
  const answer = post(backend, {})
  await backend.completeRequest(1)
  release()
  assert.is((await answer).headers.get('content-encoding'), 'gzip')
  assert.equal(await soon((await answer).json()), chatOf(1, 1))
})

double('closes the connection on request', async () => {
  const backend = await start(answers.hangsUp())
  const client = httpRequest({ port: backend.port, host: '127.0.0.1' }).end()
  const [error] = (await soon(once(client, 'error'))) as [NodeJS.ErrnoException]
  assert.is(error.code, 'ECONNRESET')
  backend.answer(answers.json('{}'))
  const again = httpRequest({ port: backend.port, host: '127.0.0.1', agent: false }).end()
  const [response] = await soon(once(again, 'response'))
  assert.is(await soon(text(response)), '{}')
})

double.run()
