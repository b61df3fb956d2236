import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { reachOf } from '../../../lib/ui/playground/reach.ts'

const reach = suite('ui/playground/reach')

const HOMES = {
  issuer: 'https://login.corp.example/realms/a',
  resource: 'https://tools.example/mcp',
  operators: [],
}
const LOCAL = { ...HOMES, issuer: 'http://127.0.0.2:9000', resource: 'http://127.0.0.1:3000/mcp' }

reach('the issuer, documents of the gateway, and public hosts over TLS are asked', () => {
  assert.is(reachOf('https://login.corp.example/token', HOMES), 'theirs')
  assert.is(reachOf('https://login.corp.example:8443/token', HOMES), 'theirs')
  assert.is(reachOf('https://oauth2.provider.example/token', HOMES), 'strangers')
  const own = 'https://tools.example/.well-known/oauth-authorization-server/mcp/token'
  assert.is(reachOf(own, HOMES), 'ours')
  assert.is(reachOf('http://127.0.0.2:9000/token', LOCAL), 'theirs')
})

reach('neighbours are not, however they are written', () => {
  const neighbours = [
    ...['http://127.0.0.1:15000/quitquitquit', 'http://localhost:15000/', 'http://127.0.0.2:9001/'],
    ...['http://[::1]:15000/', 'http://[::ffff:127.0.0.1]:1/', 'http://2130706433:1/'],
    ...['http://0x7f.1:1/', 'http://0/', 'https://169.254.169.254/latest', 'https://127.0.0.1/'],
    ...[
      'https://127.0.0.2:9001/',
      'https://10.0.0.1/',
      'https://[fd00::1]/',
      'https://a.localhost/',
    ],
    ...[
      'http://provider.example/token',
      'http://127.0.0.1:3000/private',
      'http://127.0.0.1:3000/mcp',
    ],
    ...[
      'https://u:p@provider.example/',
      'javascript:alert(1)//',
      'ftp://127.0.0.2:9000/',
      '/token',
    ],
  ]
  for (const url of neighbours) assert.is(reachOf(url, LOCAL), 'nobody', url)
  assert.is(reachOf('http://login.corp.example/token', HOMES), 'nobody')
})

reach('addresses for operators are not, even where the issuer is said to be', () => {
  const tcp = { kind: 'tcp', host: '0.0.0.0', port: 9000 } as const
  const localhost = { kind: 'localhost', port: 9000 } as const
  for (const one of [tcp, localhost])
    assert.is(reachOf('http://127.0.0.2:9000/token', { ...LOCAL, operators: [one] }), 'nobody')
  const others = [{ kind: 'off' }, { kind: 'unix', path: '/x' }, { ...localhost, port: 1 }] as const
  assert.is(reachOf('http://127.0.0.2:9000/token', { ...LOCAL, operators: others }), 'theirs')
  const far = { ...HOMES, issuer: 'http://login.corp.example:9000', operators: [tcp] }
  assert.is(reachOf('http://login.corp.example:9000/token', far), 'theirs')
})

reach.run()
