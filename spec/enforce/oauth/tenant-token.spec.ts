import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RunningGateway } from '../../support/gateway.ts'
import { Stage } from '../../support/gateway.ts'
import { ask, protectedBy, SERVER } from './asking.ts'
import type { Answer } from './asking.ts'
import { ProviderServer } from './provider-server.ts'

const tokens = suite('tokens of a tenant')
const stage = new Stage()
tokens.after.each(() => stage.clear())

const PATH = `${SERVER}/token`
const AT_TENANT = 'POST /t1/oauth2/v2.0/token'
const FORM = 'content-type: application/x-www-form-urlencoded'
const SECRET = 'hush &=+%ü'
const SENT_SECRET = `&client_secret=${encodeURIComponent(SECRET)}`
const TOKENS = '{"token_type":"Bearer",  "access_token":"a.b.c"}'

async function tenant(more = ''): Promise<[RunningGateway, ProviderServer]> {
  const provider = stage.add(await ProviderServer.start())
  provider.says.set(AT_TENANT, { body: TOKENS })
  const fields = `issuer: "${provider.origin}/t1/v2.0", provider: { idp_tenant: {} },
    clientId: abc, ${more}`.replace(/\n\s+/, ' ')
  return [await stage.gateway(protectedBy(fields)), provider]
}

async function confidential(): Promise<[RunningGateway, ProviderServer]> {
  return tenant(`clientSecret: "${SECRET}"`)
}

async function post(gateway: RunningGateway, form: string, ...fields: string[]): Promise<Answer> {
  return ask(gateway, `POST ${PATH}`, [FORM, ...fields], form)
}

const CODE = 'grant_type=authorization_code&client_id=abc&code=c.d-e_f~&code_verifier=v'
const REFRESH = 'client_id=abc&refresh_token=r&grant_type=refresh_token&scope=a%20b+c'

tokens('requests reach the tenant without resource, and all else byte for byte', async () => {
  const [gateway, provider] = await tenant()
  const resource = 'resource=https%3A%2F%2Fgateway.example%2Fmcp'
  for (const [sent, expected] of [
    [CODE, CODE],
    [`${resource}&${CODE}`, CODE],
    [`${CODE}&${resource}&re%73ource=x`, CODE],
    [`${REFRESH}&${resource}`, REFRESH],
    [resource, ''],
    ['a=%zz&&b=\xe9&c=%0d%0a', 'a=%zz&&b=\xe9&c=%0d%0a'],
  ] as const) {
    const { status, body } = await post(gateway, sent)
    assert.equal([status, body], [200, TOKENS])
    const { line, body: received, headers } = provider.received.at(-1)!
    assert.equal([line, received], [AT_TENANT, expected])
    assert.is(headers['content-type'], 'application/x-www-form-urlencoded')
  }
})

tokens('requests contain only the form and the authorization of the client', async () => {
  const [gateway, provider] = await confidential()
  const proof = 'Basic YTpi'
  await post(gateway, CODE, `authorization: ${proof}`, 'origin: https://a.example', 'cookie: a=b')
  const { headers, body } = provider.received[0]!
  assert.is(headers['authorization'], proof)
  assert.is(body, CODE)
  for (const name of ['origin', 'cookie', 'x-forwarded-for', 'forwarded', 'referer'])
    assert.is(headers[name], undefined, name)
})

tokens('responses are returned unchanged, without cookies', async () => {
  const [gateway, provider] = await tenant()
  const body = '{"error":"invalid_grant","error_description":"AADSTS70008: code c.d-e_f~ expired"}'
  provider.says.set(AT_TENANT, {
    status: 400,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store, no-cache',
      'www-authenticate': 'Basic realm="t"',
      'set-cookie': ['fpc=1; HttpOnly', 'x=y'],
      'x-ms-request-id': '1',
      'strict-transport-security': 'max-age=1',
      server: 's',
    },
    body,
  })
  const answer = await post(gateway, CODE)
  assert.equal([answer.status, answer.body], [400, body])
  assert.is(answer.headers['content-type'], 'application/json; charset=utf-8')
  assert.is(answer.headers['cache-control'], 'no-store, no-cache')
  assert.is(answer.headers['www-authenticate'], 'Basic realm="t"')
  assert.is(answer.headers['access-control-allow-origin'], '*')
  for (const name of ['set-cookie', 'x-ms-request-id', 'strict-transport-security', 'server'])
    assert.is(answer.headers[name], undefined, name)
  const [line] = gateway.lines.filter(({ message }) => message === 'token request refused')
  assert.equal([line?.['status'], line?.['error']], [400, 'invalid_grant AADSTS70008'])
  assert.not.match(JSON.stringify(gateway.lines), /c\.d-e_f|code_verifier/)
})

tokens('requests get the secret for the configured client and these grants', async () => {
  const [gateway, provider] = await confidential()
  for (const form of [
    CODE,
    REFRESH,
    'grant%5Ftype=authorization%5Fcode&client%5fid=%61bc&code%5Fverifier=v',
    `${CODE}&resource=x`,
  ]) {
    const { body } = await post(gateway, form)
    assert.is(body, TOKENS)
    assert.is(provider.received.at(-1)!.body, form.replace('&resource=x', '') + SENT_SECRET)
  }
  assert.not.match(JSON.stringify(gateway.lines), 'hush')
})

const WITHOUT_VERIFIER = [
  'grant_type=authorization_code&client_id=abc&code=c',
  'grant_type=authorization_code&client_id=abc&code=c&code_verifier=',
  'grant_type=authorization_code&client_id=abc&code=c&code_verifier',
  'grant_type=authorization_code&client_id=abc&code=c&Code_Verifier=v',
  `${CODE}&code_verifier=w`,
]

tokens(
  'requests with a code get the secret also without a verifier, unless PKCE is strict',
  async () => {
    for (const [more, added] of [
      ['', SENT_SECRET],
      [', requirePkce: strict', ''],
    ] as const) {
      const [gateway, provider] = await tenant(`clientSecret: "${SECRET}"${more}`)
      for (const form of WITHOUT_VERIFIER) {
        await post(gateway, form)
        assert.is(provider.received.at(-1)!.body, form + added)
      }
      for (const form of [CODE, REFRESH]) {
        await post(gateway, form)
        assert.is(provider.received.at(-1)!.body, form + SENT_SECRET)
      }
    }
  },
)

tokens('requests do not get the secret in any other case', async () => {
  const [gateway, provider] = await confidential()
  const code = 'grant_type=authorization_code&code_verifier=v'
  for (const form of [
    '',
    'client_id=abc',
    code,
    'grant_type=client_credentials&client_id=abc',
    'grant_type=password&client_id=abc&username=u&password=p',
    'grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&client_id=abc',
    'grant_type=Authorization_Code&client_id=abc',
    'grant_type=&client_id=abc',
    `${code}&client_id=other`,
    `${code}&client_id=ABC`,
    `${code}&client_id=abc%20`,
    `${code}&client_id=`,
    `${code}&client_id=abc&client_id=abc`,
    `${code}&client_id=abc&client_id=other`,
    `${code}&client_id=other&client%5Fid=abc`,
    `${code}&client_id=abc&Client_ID=other`,
    `${code}&client_id=abc&+client_id=other`,
    `${code}&client_id=abc&client_id%00=other`,
    `${code}&${code}&client_id=abc`,
    `${code}&grant_type=client_credentials&client_id=abc`,
    `grant_type=client_credentials&grant%5ftype=authorization_code&client_id=abc`,
    `${code}&GRANT_TYPE=client_credentials&client_id=abc`,
    `${CODE}&client_secret=mine`,
    `${CODE}&client_secret=`,
    `${CODE}&client_secret`,
    `${CODE}&client%5Fsecret=mine`,
    `${CODE}&Client_Secret=mine`,
    `${CODE}&client_assertion=x&client_assertion_type=y`,
    `${CODE}&?client_id=other`.replace('client_id=abc&', ''),
  ]) {
    await post(gateway, form)
    assert.is(provider.received.at(-1)!.body, form, form)
  }
  await post(gateway, CODE, 'authorization: ')
  assert.is(provider.received.at(-1)!.body, CODE)
})

tokens('requests must be a form of limited size', async () => {
  const [gateway, provider] = await confidential()
  const statusOf = async (fields: string[], form: string): Promise<number> =>
    (await ask(gateway, `POST ${PATH}`, fields, form)).status
  assert.is(await statusOf([], CODE), 400)
  assert.is(await statusOf(['content-type: application/json'], '{"client_id":"abc"}'), 400)
  assert.is(await statusOf(['content-type: multipart/form-data; boundary=a'], CODE), 400)
  assert.is(await statusOf([FORM, 'content-encoding: gzip'], CODE), 400)
  assert.is(await statusOf([FORM, 'content-length: 65537'], ''), 413)
  const chunk = `10001\r\n${'x'.repeat(65_537)}\r\n0\r\n\r\n`
  assert.is(await statusOf([FORM, 'transfer-encoding: chunked'], chunk), 413)
  assert.is(provider.received.length, 0)
  assert.is(await statusOf([`${FORM}; charset=utf-8`], CODE), 200)
  assert.is(await statusOf([FORM], 'x'.repeat(65_536)), 200)
})

tokens('requests are posted below every form of the metadata', async () => {
  const [gateway, provider] = await tenant()
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
    const { status, headers } = await ask(gateway, `${method} ${PATH}?${CODE}`)
    assert.equal([status, headers['allow']], [405, 'POST'], method)
  }
  const preflight = await ask(gateway, `OPTIONS ${PATH}`, [
    'origin: https://page.example',
    'access-control-request-method: POST',
    'access-control-request-headers: authorization',
  ])
  assert.equal([preflight.status, preflight.headers['access-control-allow-origin']], [204, '*'])
  assert.is(provider.received.length, 0)
  for (const path of [`${SERVER}/mcp/token`, `/mcp${SERVER}/token`])
    assert.is((await ask(gateway, `POST ${path}`, [FORM], CODE)).status, 200, path)
})

tokens.run()
