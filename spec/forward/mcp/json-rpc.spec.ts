// JSON-RPC messages: parsing, and forwarding without changes except the id and edits.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { listItems, findJsonValue } from '../../../lib/text/json-scan.ts'
import { findAnsweredNumber, RpcMessage } from '../../../lib/forward/mcp/json-rpc.ts'
import { fc } from '../../support/fast-check.ts'

const messages = suite('mcp message')

function read(text: string): RpcMessage {
  const message = RpcMessage.parse(Buffer.from(text))
  if (typeof message === 'string') throw new Error(`${text}: ${message}`)
  return message
}

/** The reason why the text is not a message. */
function refusal(text: string): string {
  const message = RpcMessage.parse(Buffer.from(text))
  if (typeof message === 'string') return message
  throw new Error(`taken for a message: ${text}`)
}

messages('distinguishes requests, notifications and responses', () => {
  const request = read('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}')
  assert.is(request.kind, 'request')
  assert.is(request.method, 'tools/call')
  assert.is(request.text(request.params!), '{"name":"a"}')
  assert.equal([request.result, request.error], [null, null])

  const notification = read('{"method":"notifications/initialized","jsonrpc":"2.0"}')
  assert.is(notification.kind, 'notification')
  assert.is(notification.method, 'notifications/initialized')
  assert.equal([notification.id, notification.params], [null, null])
  assert.is(notification.idText, 'null')

  const result = read(' {"result" : [ {} ] ,"id":"a","jsonrpc":"2.0"} ')
  assert.is(result.kind, 'response')
  assert.is(result.method, '')
  assert.is(result.text(result.result!), '[ {} ]')
  assert.is(result.error, null)

  const error = read('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}')
  assert.is(error.kind, 'response')
  assert.is(error.text(error.error!), '{"code":-32601,"message":"no"}')
  assert.is(error.result, null)
})

messages('accepts a result of any type', () => {
  for (const value of ['null', 'false', '0', '""', '{}', '[]']) {
    const message = read(`{"jsonrpc":"2.0","id":1,"result":${value}}`)
    assert.is(message.text(message.result!), value)
  }
})

const IDS = [
  '0',
  '1',
  '-1',
  '1.0',
  '1e2',
  '12345678901234567890',
  '""',
  '"1"',
  '"a\\u0041"',
  '"ü😀"',
]

messages('keeps the spelling of ids', () => {
  for (const id of IDS) {
    const message = read(`{"jsonrpc":"2.0","id": ${id} ,"method":"ping"}`)
    assert.is(message.kind, 'request')
    assert.is(message.idText, id)
    assert.is(read(`{"jsonrpc":"2.0","result":{},"id":${id}}`).idText, id)
  }
})

messages('refuses other values as ids', () => {
  for (const id of ['null', 'true', 'false', '{}', '[]', '[1]'])
    for (const rest of ['"method":"ping"', '"result":{}'])
      assert.match(
        refusal(`{"jsonrpc":"2.0","id":${id},${rest}}`),
        /id must be a string or a number/,
      )
  assert.match(refusal('{"jsonrpc":"2.0","id":{},"error":{}}'), /id must be a string or a number/)
})

messages('accepts an error response with a null id', () => {
  const message = read('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}')
  assert.is(message.kind, 'response')
  assert.is(message.idText, 'null')
})

const REFUSED: [text: string, why: RegExp][] = [
  ['', /^not valid JSON$/],
  ['{"jsonrpc":"2.0","method":"ping"', /^not valid JSON$/],
  ['{"jsonrpc":"2.0","method":"ping"}{}', /^not valid JSON$/],
  ['{"jsonrpc":"2.0","method":"ping",}', /^not valid JSON$/],
  ['[]', /expected an object/],
  ['[{"jsonrpc":"2.0","method":"ping"}]', /expected an object/],
  ['"ping"', /expected an object/],
  ['null', /expected an object/],
  ['{}', /expected "jsonrpc": "2.0"/],
  ['{"id":1,"method":"ping"}', /expected "jsonrpc": "2.0"/],
  ['{"jsonrpc":"1.0","id":1,"method":"ping"}', /expected "jsonrpc": "2.0"/],
  ['{"jsonrpc":2.0,"id":1,"method":"ping"}', /expected "jsonrpc": "2.0"/],
  ['{"jsonrpc":"2.0"}', /expected a method, a result or an error/],
  ['{"jsonrpc":"2.0","id":1}', /expected a method, a result or an error/],
  ['{"jsonrpc":"2.0","id":1,"params":{}}', /expected a method, a result or an error/],
  ['{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', /expected a method, a result or an error/],
  ['{"jsonrpc":"2.0","result":{}}', /a response without id/],
  ['{"jsonrpc":"2.0","error":{}}', /a response without id/],
  ['{"jsonrpc":"2.0","id":1,"method":""}', /expected one method/],
  ['{"jsonrpc":"2.0","id":1,"method":null}', /expected one method/],
  ['{"jsonrpc":"2.0","id":1,"method":["ping"]}', /expected one method/],
  ['{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', /expected one method/],
  ['{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}', /expected one method/],
]

messages('accepts a null error next to a result, and the reverse, and removes it', () => {
  const cases: [text: string, kept: string][] = [
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":null}', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['{"error":null,"jsonrpc":"2.0","id":1,"result":[]}', '{"jsonrpc":"2.0","id":1,"result":[]}'],
    [
      '{"error" : null , "id":1,"result":0,"jsonrpc":"2.0"}',
      '{ "id":1,"result":0,"jsonrpc":"2.0"}',
    ],
    [
      '{"jsonrpc":"2.0","id":1,"result":null,"error":null}',
      '{"jsonrpc":"2.0","id":1,"result":null}',
    ],
    ['{"id":1,"result":null,"error":{},"jsonrpc":"2.0"}', '{"id":1,"error":{},"jsonrpc":"2.0"}'],
  ]
  for (const [text, kept] of cases) assert.is(read(text).bytes.toString(), kept, text)
  const nulls = '"error":null,'.repeat(60)
  assert.match(refusal(`{${nulls}"jsonrpc":"2.0","id":1,"result":1}`), /'error' occurs twice/)
})

messages('tells deep nesting from invalid JSON', () => {
  const deep = '['.repeat(600) + ']'.repeat(600)
  assert.is(refusal(`{"jsonrpc":"2.0","id":1,"result":${deep}}`), 'nested deeper than 512 levels')
  assert.is(refusal(`{"jsonrpc":"2.0","id":1,"result":${deep}`), 'not valid JSON')
})

messages('finds the request that an invalid message answers', () => {
  const deep = '['.repeat(600) + ']'.repeat(600)
  const cases: [text: string, number: number][] = [
    ['{"id":7,"result":{}}', 7],
    [' {"jsonrpc":"2.0","id":7}', 7],
    ['{"jsonrpc":"2.0","id":7,"result":{"content":[', 7],
    [`{"jsonrpc":"2.0","result":${deep},"id":7}`, 7],
    ['{"jsonrpc":"2.0","id":7,"result":1,"error":{}}', 7],
    ['{"jsonrpc":"2.0","id":1,"id":7,"result":1}', 7],
    // Cut in the middle of the number, or before the id.
    ['{"jsonrpc":"2.0","result":1,"id":7', 0],
    ['{"jsonrpc":"2.0","result":[,"id":7}', 0],
    // A log line, a request of the target, and ids that the gateway never sends.
    ['{"level":"info","id":7,"msg":"x"}', 0],
    ['{"id":7,"method":"ping","result":1}', 0],
    ['{"id":"7","result":1}', 0],
    ['{"id":null,"result":1}', 0],
    ['{"id":7.5,"result":1}', 0],
    ['{"\\x":1,"id":7,"result":1}', 0],
    ['[{"id":7,"result":1}]', 0],
    ['Server started', 0],
    ['', 0],
  ]
  for (const [text, number] of cases) assert.is(findAnsweredNumber(Buffer.from(text)), number, text)
})

messages('refuses invalid messages with a reason', () => {
  for (const [text, why] of REFUSED) assert.match(refusal(text), why, text)
})

const ENVELOPE = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']
const REQUEST = '"jsonrpc":"2.0","id":1,"method":"ping","params":{}'

messages('refuses duplicate envelope members in any spelling', () => {
  for (const name of ENVELOPE) {
    const escaped = `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`
    for (const first of [name, escaped])
      for (const second of [name, escaped, name.toUpperCase()])
        assert.match(
          refusal(`{"${first}":1,"x":2,"${second}":3}`),
          new RegExp(`'${name}' occurs twice`),
        )
  }
})

messages('refuses envelope members in another case', () => {
  const other = ['JSONRPC', 'Id', 'ID', 'Method', 'mEthod', 'Params', 'RESULT', 'Error']
  // The long s, which some parsers treat as an s.
  for (const key of [...other, 'jſonrpc', 'paramſ', 'reſult', '\\u0049d', 'param\\u017f']) {
    const decoded = JSON.parse(`"${key}"`) as string
    const name = decoded.replace('ſ', 's').toLowerCase()
    const text = `{${REQUEST.replace(`"${name}":`, '"x":')},"${key}":1}`
    assert.match(refusal(text), new RegExp(`expected '${name}', found '${decoded}'`))
  }
})

messages('accepts any other member, also twice', () => {
  const text = `{"ids":1,"x":1,${REQUEST},"x":2,"X":3,"_id":4,"":5,"__proto__":{"id":6}}`
  assert.is(read(text).idText, '1')
  assert.is(read(text).bytes.toString(), text)
})

messages('reads a member whose key has escapes', () => {
  const message = read('{"jsonrpc":"2.0","\\u0069d":7,"m\\u0065thod":"tools\\/c\\u0061ll"}')
  assert.is(message.idText, '7')
  assert.is(message.method, 'tools/call')
})

messages('finds members of params, and strings among them', () => {
  const message = read(
    '{"jsonrpc":"2.0","method":"a","params":{"n\\u0061me":"b\\n","n":1,"o":{"name":"no"}}}',
  )
  assert.is(message.textParam('name'), 'b\n')
  assert.is(message.textParam('n'), undefined)
  assert.is(message.text(message.param('n')!), '1')
  assert.is(message.param('jsonrpc'), undefined)
  assert.equal(
    message.paramMembers().map(({ key }) => key),
    ['name', 'n', 'o'],
  )
  const twice = read('{"jsonrpc":"2.0","method":"a","params":{"x":"first","x":"last"}}')
  assert.is(twice.textParam('x'), 'last')
  for (const params of ['', ',"params":[{"name":"a"}]', ',"params":null', ',"params":"name"'])
    assert.is(read(`{"jsonrpc":"2.0","method":"a"${params}}`).param('name'), undefined)
})

messages('parses each item of a batch separately', () => {
  const bytes = Buffer.from(
    '[ {"jsonrpc":"2.0","id":1,"method":"ping"},\n1, {"jsonrpc":"2.0",\n"id":2,"result":{}}]',
  )
  const items = listItems(bytes, findJsonValue(bytes)!).map((item) =>
    RpcMessage.parseAt(bytes, item),
  )
  const [first, second, third] = items
  assert.is(items.length, 3)
  assert.instance(first, RpcMessage)
  assert.is((first as RpcMessage).bytes.toString(), '{"jsonrpc":"2.0","id":1,"method":"ping"}')
  assert.is(second, 'not a JSON-RPC message: expected an object')
  assert.instance(third, RpcMessage)
  assert.is((third as RpcMessage).bytes.toString(), '{"jsonrpc":"2.0", "id":2,"result":{}}')
  assert.is((third as RpcMessage).idText, '2')
})

messages('replaces line breaks by spaces, without changing its input', () => {
  const text = '\r\n{\r\n\t"jsonrpc": "2.0",\n  "id": "a\\n",\r"method": "ping"\n}\n'
  const bytes = Buffer.from(text)
  const message = RpcMessage.parse(bytes) as RpcMessage
  assert.is(message.bytes.toString(), text.trim().replace(/[\r\n]/g, ' '))
  assert.is(message.idText, '"a\\n"')
  assert.is(message.method, 'ping')
  assert.is(bytes.toString(), text)
})

messages('replaces the id and no other byte', () => {
  for (const id of IDS)
    for (const fresh of ['7', '"b"', '12345678901234567890', '"ü"']) {
      const text = `{ "x":1.0, "id" : ${id} ,"jsonrpc":"2.0","method":"a","params":{"id":${id}} }`
      const expected = text.replace(`"id" : ${id} ,`, `"id" : ${fresh} ,`)
      assert.is(read(text).withId(fresh).toString(), expected)
      assert.is(read(text).bytes.toString(), text)
    }
})

messages('replaces the id and applies edits', () => {
  const message = read('{"jsonrpc":"2.0","method":"a","params":{"name":"x_b"},"id":1}')
  const name = { ...message.param('name')!, text: '"b"' }
  assert.is(
    message.withId('22', name).toString(),
    '{"jsonrpc":"2.0","method":"a","params":{"name":"b"},"id":22}',
  )
  const notification = read('{"jsonrpc":"2.0","method":"a"}')
  assert.is(notification.withId('22'), notification.bytes)
})

messages('replaces the id of any request without changing its params', () => {
  const ID = fc.oneof(fc.integer(), fc.string())
  fc.assert(
    fc.property(ID, fc.jsonValue(), fc.constantFrom('', ' ', '\n'), (id, params, space) => {
      const request = { params, id, jsonrpc: '2.0', method: 'a' }
      const sent = read(JSON.stringify(request, null, space)).withId('17')
      assert.not(sent.includes('\n'))
      assert.equal(JSON.parse(sent.toString()), JSON.parse(JSON.stringify({ ...request, id: 17 })))
    }),
  )
})

messages.run()
