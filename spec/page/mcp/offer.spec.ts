// What a server offers, read defensively; and requests as commands.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { McpBackendView } from '../../../lib/admin/page-api/page-api-types.ts'
import { formOf } from '../../../lib/page/mcp/form-model.ts'
import { buildMcpCurlCommand } from '../../../lib/page/mcp/item-view.ts'
import { offerOf } from '../../../lib/page/mcp/offer.ts'
import type { Members } from '../../../lib/page/mcp/mcp-errors.ts'
import { deadline } from '../../support/deadline.ts'

const WAIT_MS = 30_000
const ALL = { tools: {}, prompts: {}, resources: {} }

const items = suite('page/offer')

type Answers = Record<string, (params: Members) => Members>

function offered(answers: Answers, capabilities: Members = ALL): ReturnType<typeof offerOf> {
  const ask = async (method: string, params: Members): Promise<Members> => {
    const answer = answers[method]
    if (answer === undefined) throw new Error('Method not found')
    return answer(params)
  }
  return deadline(offerOf(ask, capabilities), WAIT_MS, 'an offer')
}

items('requests only lists that the server has', async () => {
  const offer = await offered({ 'tools/list': () => ({ tools: [{ name: 'a' }] }) }, { tools: {} })
  assert.equal(
    offer.tools.map(({ name }) => name),
    ['a'],
  )
  assert.equal([offer.prompts, offer.resources, offer.problems], [[], [], []])
})

items('turns pages, but not for ever', async () => {
  const pages = await offered(
    {
      'tools/list': ({ cursor }) =>
        cursor === undefined
          ? { tools: [{ name: 'a' }], nextCursor: 'n' }
          : { tools: [{ name: 'b' }] },
    },
    { tools: {} },
  )
  assert.equal(
    pages.tools.map(({ name }) => name),
    ['a', 'b'],
  )
  let asked = 0
  const endless = (): Members => ({ tools: [{ name: `t${asked++}` }], nextCursor: 'n' })
  await offered({ 'tools/list': endless }, { tools: {} })
  assert.is(asked, 20)
})

items('one failed list does not affect the others', async () => {
  const failed = { target: 'b', reason: "target 'b' could not be started" }
  const offer = await offered({
    'tools/list': () => ({
      tools: [{ name: 'a' }],
      _meta: { 'gateway/failedTargets': [failed] },
    }),
    'prompts/list': () => ({
      prompts: [],
      _meta: { 'gateway/failedTargets': [{ ...failed, reason: 'again' }] },
    }),
    'resources/list': () => ({ resources: [{ uri: 'x://y', name: 'y' }] }),
  })
  assert.is(offer.tools.length, 1)
  assert.is(offer.resources.length, 1)
  assert.equal(offer.problems, [
    "target 'b' could not be started",
    'resources/templates/list: Method not found',
  ])
})

items('takes nothing for granted', async () => {
  const offer = await offered({
    'tools/list': () => ({ tools: [null, 7, { name: 7, description: [] }, { annotations: 'x' }] }),
    'prompts/list': () => ({
      prompts: [{ name: 'p', arguments: [7, { name: 'q', required: true }] }],
    }),
    'resources/list': () => ({ resources: 'none' }),
    'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'x://{a}' }] }),
  })
  assert.equal(
    offer.tools.map(({ name, title, description }) => [name, title, description]),
    [
      ['', '', ''],
      ['', '', ''],
    ],
  )
  const [field] = formOf(offer.prompts[0]?.schema).fields
  assert.equal([field?.name, field?.isRequired], ['q', true])
  assert.equal(
    offer.resources.map(({ kind, uri }) => [kind, uri]),
    [['template', 'x://{a}']],
  )
})

const BACKEND: McpBackendView = {
  key: 'k',
  route: 'r',
  port: 3000,
  bind: '127.0.0.1:3000',
  path: '/mcp',
  hostname: '',
  protocol: 'HTTP',
  authentication: null,
  targets: [],
  open: 0,
  sessions: { shown: [], more: 0 },
}

items('a command contains the request with any content, but never the token', () => {
  const sent = {
    backend: BACKEND,
    host: 'box',
    headers: { accept: 'application/json' },
    authorization: 'token',
    message: { method: 'x', params: { a: "it's `$(id)`" } },
  } as const
  assert.is(
    buildMcpCurlCommand(sent),
    [
      'curl -N http://127.0.0.1:3000/mcp',
      "-H 'accept: application/json'",
      '-H "authorization: Bearer $TOKEN"',
      String.raw`--data-raw '{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"it'\''s ` +
        '`$(id)`"}}\'',
    ].join(' \\\n  '),
  )
  const tls = buildMcpCurlCommand({
    ...sent,
    authorization: 'none',
    backend: { ...BACKEND, protocol: 'HTTPS', port: 443, hostname: 'x.example' },
  })
  assert.match(tls, /^curl -N https:\/\/x\.example\/mcp \\\n {2}--insecure \\\n/)
  assert.not.match(tls, /TOKEN/)
  const everywhere = buildMcpCurlCommand({ ...sent, backend: { ...BACKEND, bind: '0.0.0.0:3000' } })
  assert.match(everywhere, /^curl -N http:\/\/box:3000\/mcp /)
})

items.run()
