// Requests with a wrong content-type or a compressed body cannot bypass the checks of their model.

import { gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import { answers, chatOf, LlmBackend } from '../../support/llm-backend.ts'

const unread = suite('forward/llm: bodies that claim to be something else')
const stage = new Stage()
unread.after.each(() => stage.clear())

const BODY = '{"model":"small","messages":[]}'
const KEY = 'abcdef'

async function opened(policies: string) {
  const llm = stage.add(await LlmBackend.start(answers.json(chatOf(3, 4))))
  const gateway = await stage.gateway(`routes:
- policies: { ${policies} }
  backends:
  - ai: { name: p, hostOverride: "127.0.0.1:${llm.port}", provider: { openAI: {} } }
`)
  const client = await stage.client(gateway)
  const ask = async (body: string | Buffer, ...fields: string[]): Promise<string> => {
    const lines = ['POST /v1/chat/completions HTTP/1.1', 'host: a', ...fields]
    client.send(`${lines.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n`)
    client.send(body)
    return client.until(/\r\n\r\n.+$/s)
  }
  return { llm, ask }
}

unread('a model is replaced whatever the content-type of the body', async () => {
  const { llm, ask } = await opened('ai: { modelAliases: { small: real } }')
  assert.match(await ask(BODY, 'content-type: application/x-www-form-urlencoded'), /^HTTP\/1.1 200/)
  assert.is((await llm.completeRequest(1)).text, '{"model":"real","messages":[]}')
})

unread('a compressed body is refused where the model matters', async () => {
  const { ask } = await opened('ai: { modelAliases: { small: real } }')
  const answer = await ask(
    gzipSync(BODY),
    'content-type: application/json',
    'content-encoding: gzip',
  )
  assert.match(answer, /^HTTP\/1.1 415/)
  assert.match(answer, 'send it without content-encoding')
})

unread('a compressed body is forwarded unchanged where the model does not matter', async () => {
  const { llm, ask } = await opened('')
  const bytes = gzipSync(BODY)
  assert.match(
    await ask(bytes, 'content-type: application/json', 'content-encoding: gzip'),
    /^HTTP\/1.1 200/,
  )
  assert.equal((await llm.completeRequest(1)).body, bytes)
})

const KEYED = `apiKey: { mode: strict, keys: [{ key: ${KEY}, allowedModels: ["sm*"] }] }`

const BEARER = `authorization: Bearer ${KEY}`

unread('a key may use its models', async () => {
  const { llm, ask } = await opened(KEYED)
  assert.match(await ask(BODY, BEARER, 'content-type: application/json'), /^HTTP\/1.1 200/)
  assert.is((await llm.completeRequest(1)).text, BODY)
})

unread('a key may not use other models', async () => {
  const { ask } = await opened(KEYED)
  assert.match(
    await ask('{"messages":[],"model":"large"}', BEARER),
    /^HTTP\/1.1 403.+"code":"model_not_allowed"/s,
  )
})

unread('a key with allowed models must name one', async () => {
  const { ask } = await opened(KEYED)
  assert.match(await ask('{"messages":[]}', BEARER), /^HTTP\/1.1 403/)
})

unread.run()
