// Fuzzing of an MCP endpoint with nearly valid messages: each is answered, and the session continues.

import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { McpClient, mcpText } from '../forward/mcp/mcp-client.ts'
import { changed, changes } from './mutate.ts'
import { target } from './target.ts'

const MESSAGES = [
  '{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}',
  '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"progressToken":1}}}',
  '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}',
  '{"jsonrpc":"2.0","id":3,"result":{"roots":[]}}',
  '[{"jsonrpc":"2.0","id":4,"method":"ping"}]',
]
const PIECES = [
  ...[
    '"',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    'null',
    '1',
    '-0',
    '1e400',
    '\\u0000',
    '\xff',
    '\xc3\xa9',
    ' ',
  ],
  ...[
    '"id":null,',
    '"id":1.5,',
    '"id":{},',
    '"method":7,',
    '"params":[],',
    '"jsonrpc":"1.0",',
    '"id":9,',
  ],
  ...[
    '"result":1,',
    '"error":{},',
    '"method":"initialize",',
    '"method":"ping",',
    '"__proto__":{},',
  ],
]
const GOOD = [200, 202, 400, 404, 413]

export const RPC = [
  target('answers any message to an MCP endpoint, and continues the session', async (stage) => {
    const gateway = await stage.gateway(mcpText())
    const client = await McpClient.open(stage, gateway)
    const texts = fc.constantFrom(...MESSAGES)
    return fc.asyncProperty(texts, changes(PIECES), async (text, made) => {
      const body = changed(text, made)
      const head = `accept: application/json, text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`
      const answer = await client.send('POST', head, body)
      await answer.head()
      assert.ok(GOOD.includes(answer.status), `${answer.status} ${answer.content}`)
      if (isWhole(answer.header('content-type'))) await answer.whole()
      answer.raw.destroy()
      const pong = await client.ask('ping')
      assert.is((await pong.whole()).status, 200)
      pong.raw.destroy()
    })
  }),
]

/** An event stream ends when its call does, which a changed call may never do. */
function isWhole(type: string | undefined): boolean {
  return type !== undefined && !type.startsWith('text/event-stream')
}
