// spec.md §5.8: only the backend sees what is marked as secret. Secrets are planted in every possible place, the traffic
// includes errors, and everything that the process emits is searched.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProviderServer } from '../enforce/oauth/provider-server.ts'
import { childFile } from '../support/children/child-file.ts'
import { Stage } from '../support/gateway.ts'
import { answers, chatOf, LlmBackend } from '../support/llm-backend.ts'
import type { LlmAnswer } from '../support/llm-backend.ts'
import { chatAsking } from '../support/llm/asking.ts'
import { Signer } from '../support/signer.ts'
import { Planted } from './planted.ts'
import { all, HEADERS, judge, OWN_SECRETS, QUERY, S } from './planted-secrets.ts'

const secrets = suite('secrets')
const stage = new Stage()
secrets.after.each(() => stage.clear())

type Json = Record<string, unknown>

function route(path: string, backend: Json | null, policies: Json = {}): Json {
  const backends = backend === null ? {} : { backends: [backend] }
  return { name: path, matches: [{ path: { pathPrefix: `/${path}` } }], ...backends, policies }
}

interface Places {
  readonly backend: LlmBackend
  readonly provider: ProviderServer
  readonly signer: Signer
}

function httpRoutes({ backend, signer }: Places): Json[] {
  const host = { host: `127.0.0.1:${backend.port}` }
  const jwks = JSON.stringify({ keys: [signer.jwk] })
  const keyed = (location: Json): Json => ({ key: { value: S.backendKey, location } })
  return [
    route('plain', host),
    route('set', host, {
      requestHeaderModifier: {
        set: { 'X-User-Jwt': S.setJwt },
        add: { apikey: S.setKey, 'x-up': `Bearer ${S.setBearer}` },
      },
      responseHeaderModifier: { set: { token: S.answered } },
    }),
    route('down', { host: '127.0.0.1:1' }),
    route('jwt', host, {
      jwtAuth: { mode: 'strict', issuer: 'https://i', jwks },
      backendAuth: { passthrough: {} },
    }),
    route('unchecked', host, {
      jwtAuth: {
        mode: 'strict',
        issuer: 'https://j',
        jwks: { url: `http://127.0.0.1:1/k?token=${S.keysUrl}` },
      },
    }),
    route('key', host, {
      apiKey: {
        mode: 'strict',
        location: { queryParameter: { name: 'pass' } },
        keys: [
          {
            key: S.apiKey,
            metadata: { team: 'a', passphrase: S.metadata, list_token: [S.metadataList] },
          },
        ],
      },
      backendAuth: keyed({ header: { name: 'x-backend-cred' } }),
    }),
    route('asked', host, {
      backendAuth: { key: { value: S.queryKey, location: { queryParameter: { name: 'who' } } } },
    }),
    route('basic', host, { basicAuth: { mode: 'strict', htpasswd: `u:${S.password}` } }),
  ]
}

function decidingRoutes({ backend }: Places): Json[] {
  const host = { host: `127.0.0.1:${backend.port}` }
  return [
    route('made', host, {
      transformations: {
        request: {
          set: {
            'x-my-secret': `"${S.made}"`,
            authorization: `"${S.faulty}" + jwt.none`,
          },
        },
      },
    }),
    route('ruled', host, {
      authorization: { rules: [`request.headers["authorization"] != "Bearer ${S.ruled}"`] },
    }),
    {
      ...route('signed', host),
      matches: [
        { path: { exact: '/signed' }, query: [{ name: 'sig', value: { exact: S.signed } }] },
      ],
    },
    route('direct', null, {
      directResponse: { status: 200, body: JSON.stringify({ token: S.direct }) },
    }),
    route('limited', host, {
      localRateLimit: [
        {
          maxTokens: 1,
          tokensPerFill: 1,
          fillInterval: '1h',
          key: 'request.headers["authorization"]',
        },
      ],
    }),
  ]
}

/** A child that reports its input, and nothing else. */
const PRINT_ARGUMENTS = 'console.error("given", ...process.argv, process.env.OWN)'
const ARGUMENTS = [
  ...['-e', PRINT_ARGUMENTS, '--', '--header', `Authorization: Bearer ${S.argHeader}`],
  ...[`--env=API_KEY=${S.argEnv}`, S.argBare],
]

/** The API key of the web page. */
const UI = {
  policies: { apiKey: { location: { header: { name: 'x-ui' } }, keys: [{ key: S.uiKey }] } },
}

function otherRoutes({ backend, provider }: Places): Json[] {
  const child = {
    name: 'child',
    stdio: {
      cmd: process.execPath,
      args: [childFile('mcp-server'), '--name', 'child'],
      env: { TOKEN: S.env },
    },
  }
  const telling = {
    name: 'telling',
    stdio: { cmd: process.execPath, args: ARGUMENTS, env: { OWN: S.env } },
  }
  const far = { name: 'far', mcp: { host: `http://127.0.0.1:${backend.port}/far` } }
  return [
    route('llm', {
      ai: {
        name: 'p',
        provider: { openAI: {} },
        hostOverride: `127.0.0.1:${backend.port}`,
        policies: { backendAuth: { key: S.llmKey } },
      },
    }),
    route('child', { mcp: { targets: [child] } }),
    route('telling', { mcp: { targets: [telling] } }),
    route('far', { mcp: { targets: [far] }, policies: { backendAuth: { key: S.targetKey } } }),
    route(
      'mcp',
      { mcp: { targets: [child] } },
      {
        mcpAuthentication: {
          mode: 'strict',
          issuer: `${provider.origin}/t1/v2.0`,
          audiences: ['a'],
          provider: { idp_tenant: {} },
          clientId: 'abc',
          clientSecret: S.clientSecret,
          resourceMetadata: { resource: 'http://localhost/mcp' },
        },
      },
    ),
  ]
}

/** The JSON-RPC messages and forms of the traffic. */
const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'spec', version: '1' },
  },
})
const MCP = { accept: 'application/json, text/event-stream', host: 'localhost' }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function started(bodies: 'redacted' | 'exact' = 'redacted'): Promise<[Planted, Places]> {
  const backend = stage.add(await LlmBackend.start(answers.fails(500)))
  const provider = stage.add(await ProviderServer.start())
  const signer = await Signer.make('ES256', 'k')
  const places = { backend, provider, signer }
  const gateway = stage.add(
    await Planted.start(
      {
        ui: UI,
        routes: [...httpRoutes(places), ...decidingRoutes(places), ...otherRoutes(places)],
      },
      bodies,
    ),
  )
  return [gateway, places]
}

/** The headers of the backend's latest request. */
function lastHeaders({ requests }: LlmBackend): Json {
  return requests.at(-1)!.headers
}

/** Checks that the output is not empty: it contains values that are no secrets. */
function assertEmitted(emitted: string): void {
  assert.match(emitted, '"path":"/plain/a"')
  assert.match(emitted, '&shown=yes')
  assert.match(emitted, '"sub":"alice"')
  assert.match(emitted, '"place":"admin"')
  assert.match(emitted, 'cannot fetch the keys of https://j: ')
  assert.match(emitted, 'cannot connect to 127.0.0.1:1: connection refused')
  assert.match(emitted, '"tightest":[{"key":"<redacted>"')
  assert.match(emitted, 'event: logs')
}

secrets(
  'of requests and of the configuration reach the backend, and are in nothing that is emitted',
  async () => {
    const [gateway, { backend, signer }] = await started()
    const ok = answers.json(chatOf(1, 1), { 'set-cookie': `a=${S.setCookie}` })
    const get = async (path: string, fields = {}, status = 200): Promise<void> => {
      backend.answer(ok)
      const options = { path, method: 'GET', fields: { ...HEADERS, ...fields } }
      assert.is((await gateway.ask('', options)).status, status, path)
    }
    await get(`/plain/a${QUERY}`)
    assert.is(lastHeaders(backend)['authorization'], HEADERS.authorization)
    assert.is(lastHeaders(backend)['x-my-secret'], S.named)
    assert.is(lastHeaders(backend)['cookie'], HEADERS.cookie)
    assert.is(backend.requests.at(-1)?.target, `/plain/a${QUERY}`)
    await get('/down', {}, 503)
    await get('/nowhere', {}, 404)

    const token = signer.token({ iss: 'https://i', sub: 'alice', exp: 4e9 })
    all.set('jwt', token)
    all.set('jwt signature', token.split('.')[2]!)
    await get('/jwt', { authorization: `Bearer ${token}` })
    assert.is(lastHeaders(backend)['authorization'], `Bearer ${token}`)
    await get('/jwt', { authorization: `Bearer ${token}x` }, 401)
    const other = signer.token({ iss: 'https://j', sub: 'alice', exp: 4e9 })
    all.set('other jwt', other)
    await get('/unchecked', { authorization: `Bearer ${other}` }, 503)

    await get(`/key?pass=${S.apiKey}`)
    assert.is(lastHeaders(backend)['x-backend-cred'], S.backendKey)
    await get(`/key?pass=${S.wrongKey}`, {}, 401)
    await get('/asked?a=b')
    assert.is(backend.requests.at(-1)?.target, `/asked?a=b&who=${S.queryKey}`)
    const pair = Buffer.from(`u:${S.password}`).toString('base64')
    all.set('basic pair', pair)
    await get('/basic', { authorization: `Basic ${pair}` })
    await get('/basic', { authorization: `Basic ${pair}x` }, 401)
    await get('/set')
    assert.equal(
      [lastHeaders(backend)['x-user-jwt'], lastHeaders(backend)['apikey']],
      [S.setJwt, S.setKey],
    )
    await get('/made')
    assert.is(lastHeaders(backend)['x-my-secret'], S.made)
    await get('/ruled')
    await get(`/signed?sig=${S.signed}`)
    await get('/direct')
    await get('/limited')
    await get('/limited', {}, 429)

    const emitted = await gateway.end()
    judge(emitted)
    assertEmitted(emitted)
  },
)

secrets(
  'of LLM providers, of MCP servers and of OAuth are in nothing that is emitted',
  async () => {
    const [gateway, { backend, provider }] = await started()
    const chat = '/llm/v1/chat/completions'
    for (const answer of [answers.json(chatOf(1, 1)), answers.fails(401), answers.fails(500)]) {
      backend.answer(answer)
      await gateway.ask(chatAsking(), { path: chat, fields: HEADERS })
      assert.is(lastHeaders(backend)['authorization'], `Bearer ${S.llmKey}`)
    }
    await gateway.ask(INITIALIZE, { path: '/child', fields: { ...HEADERS, ...MCP } })
    await gateway.ask(INITIALIZE, { path: '/telling', fields: { ...HEADERS, ...MCP } })
    backend.answer(answers.fails(500))
    await gateway.ask(INITIALIZE, { path: '/far', fields: { ...HEADERS, ...MCP } })
    assert.is(lastHeaders(backend)['authorization'], `Bearer ${S.targetKey}`)

    const form = `grant_type=password&password=${S.formPassword}&client_secret=${S.sentSecret}`
    backend.answer(answers.json({ access_token: S.accessToken, token_type: 'Bearer' }))
    await gateway.ask(form, { path: '/plain/token', fields: FORM })
    assert.is(backend.requests.at(-1)?.body.toString(), form)

    const groups = { tokens: [S.listed], credentials: { user: 'u', more: [S.grouped] } }
    backend.answer(answers.json(groups))
    await gateway.ask(JSON.stringify(groups), { path: '/plain/groups' })

    provider.says.set('POST /t1/oauth2/v2.0/token', {
      body: JSON.stringify({ access_token: S.accessToken, refresh_token: S.refreshToken }),
    })
    const token = '/.well-known/oauth-authorization-server/mcp/token'
    const code = `grant_type=authorization_code&client_id=abc&code=${S.code}&code_verifier=${S.verifier}`
    const response = await gateway.ask(code, { path: token, fields: { ...FORM, ...MCP } })
    assert.is(response.status, 200)
    assert.match(response.text, S.accessToken)
    assert.match(provider.received.at(-1)!.body, S.clientSecret)
    provider.says.set('POST /t1/oauth2/v2.0/token', {
      status: 400,
      body: '{"error":"invalid_grant"}',
    })
    await gateway.ask(code, { path: token, fields: { ...FORM, ...MCP } })
    const registration = '/.well-known/oauth-authorization-server/mcp/client-registration'
    const client = { redirect_uris: ['http://localhost/cb'], client_secret: S.registered }
    await gateway.ask(JSON.stringify(client), { path: registration, fields: MCP })
    await gateway.ask(INITIALIZE, { path: '/mcp', fields: { ...HEADERS, ...MCP } })
    const emitted = await gateway.end()
    judge(emitted)
    assert.match(emitted, /given [^\n]+ --header <redacted> <redacted>/)
  },
)

/** A backend that returns the credential of each request in its body, plain and encoded, and in a header. */
const echo: LlmAnswer = ({ headers, target }, response) => {
  const { authorization = '', 'x-backend-cred': cred = '', 'x-user-jwt': jwt = '' } = headers
  const parts = [
    authorization,
    cred,
    jwt,
    target,
    Buffer.from(`u:${authorization}`).toString('base64'),
  ]
  response.writeHead(200, {
    'content-type': 'application/json',
    'x-echo': `${authorization} ${String(cred)}`,
  })
  response.end(JSON.stringify({ error: `wrong: ${parts.join(' ')}`, password: 'shown in full' }))
}

secrets('that the gateway added are not in a trace of exact bodies that return them', async () => {
  const [gateway, { backend, provider }] = await started('exact')
  const own = new Map([...all].filter(([where]) => OWN_SECRETS.has(where)))
  const ask = async (path: string, body = ''): Promise<string> => {
    backend.answer(echo)
    const { text } = await gateway.ask(body, {
      path,
      fields: path.startsWith('/key') ? {} : HEADERS,
    })
    return text
  }
  assert.match(await ask('/llm/v1/chat/completions', chatAsking()), S.llmKey)
  assert.match(await ask(`/key?pass=${S.apiKey}`), S.backendKey)
  assert.match(await ask('/asked?a=b'), S.queryKey)
  assert.match(await ask('/set'), S.setJwt)
  provider.says.set('POST /t1/oauth2/v2.0/token', {
    status: 400,
    body: JSON.stringify({ error: 'invalid_client', error_description: `not ${S.clientSecret}` }),
  })
  const token = '/.well-known/oauth-authorization-server/mcp/token'
  const code = 'grant_type=authorization_code&client_id=abc&code=c&code_verifier=v'
  const response = await gateway.ask(code, { path: token, fields: { ...FORM, ...MCP } })
  assert.match(response.text, /invalid_client.*not \*+"/)
  judge(gateway.traces, own)
  assert.match(gateway.traces, '"password":"shown in full"')
  assert.match(gateway.traces, 'wrong: Bearer <redacted>')
})

secrets.run()
