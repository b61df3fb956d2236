import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { hostKindOf } from '../../../lib/admin/playground/provider-access.ts'

const reach = suite('ui/playground/reach')

const HOSTS = {
  issuer: 'https://login.corp.example/realms/a',
  resource: 'https://tools.example/mcp',
  operators: [],
}
const LOCAL = { ...HOSTS, issuer: 'http://127.0.0.2:9000', resource: 'http://127.0.0.1:3000/mcp' }

reach('the issuer, documents of the gateway, and public hosts over TLS are allowed', () => {
  assert.is(hostKindOf('https://login.corp.example/token', HOSTS), 'provider')
  assert.is(hostKindOf('https://login.corp.example:8443/token', HOSTS), 'provider')
  assert.is(hostKindOf('https://oauth2.provider.example/token', HOSTS), 'public')
  const own = 'https://tools.example/.well-known/oauth-authorization-server/mcp/token'
  assert.is(hostKindOf(own, HOSTS), 'gateway')
  assert.is(hostKindOf('http://127.0.0.2:9000/token', LOCAL), 'provider')
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
  for (const url of neighbours) assert.is(hostKindOf(url, LOCAL), 'forbidden', url)
  assert.is(hostKindOf('http://login.corp.example/token', HOSTS), 'forbidden')
})

reach('addresses for operators are not, even where the issuer is said to be', () => {
  const tcp = { kind: 'tcp', host: '0.0.0.0', port: 9000 } as const
  const localhost = { kind: 'localhost', port: 9000 } as const
  for (const one of [tcp, localhost])
    assert.is(
      hostKindOf('http://127.0.0.2:9000/token', { ...LOCAL, operators: [one] }),
      'forbidden',
    )
  const others = [{ kind: 'off' }, { kind: 'unix', path: '/x' }, { ...localhost, port: 1 }] as const
  assert.is(hostKindOf('http://127.0.0.2:9000/token', { ...LOCAL, operators: others }), 'provider')
  const far = { ...HOSTS, issuer: 'http://login.corp.example:9000', operators: [tcp] }
  assert.is(hostKindOf('http://login.corp.example:9000/token', far), 'provider')
})

reach.run()
