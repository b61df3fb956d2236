// The planted secrets, one for each place, and the search for them.

import * as assert from 'uvu/assert'

let count = 0

/** A text that is easy to find. */
function planted(where: string): string {
  const text = `${where}Planted${++count}q${'zx'.repeat(6)}`
  all.set(where, text)
  return text
}

export const all = new Map<string, string>()

export const S = {
  bearer: planted('bearer'),
  proxy: planted('proxy'),
  named: planted('named'),
  xApiKey: planted('xApiKey'),
  cookie: planted('cookie'),
  query: planted('query'),
  encodedQuery: planted('encodedQuery'),
  userInfo: planted('userInfo'),
  setJwt: planted('setJwt'),
  setKey: planted('setKey'),
  answered: planted('answered'),
  metadata: planted('metadata'),
  made: planted('made'),
  faulty: planted('faulty'),
  setCookie: planted('setCookie'),
  backendKey: planted('backendKey'),
  queryKey: planted('queryKey'),
  apiKey: planted('apiKey'),
  wrongKey: planted('wrongKey'),
  password: planted('password'),
  keysUrl: planted('keysUrl'),
  llmKey: planted('llmKey'),
  env: planted('env'),
  targetKey: planted('targetKey'),
  clientSecret: planted('clientSecret'),
  sentSecret: planted('sentSecret'),
  code: planted('code'),
  verifier: planted('verifier'),
  accessToken: planted('accessToken'),
  refreshToken: planted('refreshToken'),
  registered: planted('registered'),
  formPassword: planted('formPassword'),
  xAuth: planted('xAuth'),
  assertion: planted('assertion'),
  schemed: planted('schemed'),
  uiKey: planted('uiKey'),
  listed: planted('listed'),
  grouped: planted('grouped'),
  metadataList: planted('metadataList'),
  ruled: planted('ruled'),
  signed: planted('signed'),
  direct: planted('direct'),
  setBearer: planted('setBearer'),
  argHeader: planted('argHeader'),
  argEnv: planted('argEnv'),
  argBare: planted('argBare'),
}

export const HEADERS = {
  authorization: `Bearer ${S.bearer}`,
  'proxy-authorization': `Basic ${S.proxy}`,
  'x-my-secret': S.named,
  'x-api-key': S.xApiKey,
  cookie: `session=${S.cookie}`,
  'x-auth': S.xAuth,
  'cf-access-jwt-assertion': S.assertion,
  'x-custom': `Bearer ${S.schemed}`,
  'x-ui': S.uiKey,
  referer: `https://u:${S.userInfo}@a.test/?access_token=${S.query}`,
}
export const QUERY = `?access_token=${S.query}&api%5Fkey=${S.encodedQuery}&shown=yes`

/** The secrets that the gateway itself sends to backends. */
export const OWN_SECRETS: ReadonlySet<string> = new Set([
  ...['llmKey', 'backendKey', 'queryKey', 'setJwt', 'clientSecret'],
])

/** Asserts that no secret occurs, in any encoding. */
export function judge(emitted: string, secrets: ReadonlyMap<string, string> = all): void {
  for (const [where, text] of secrets)
    for (const form of [text, encodeURIComponent(text), Buffer.from(text).toString('base64')]) {
      const at = emitted.indexOf(form)
      const around = emitted.slice(Math.max(0, at - 300), at + form.length + 20)
      assert.ok(at < 0, `${where} is shown: ${around}`)
    }
}
