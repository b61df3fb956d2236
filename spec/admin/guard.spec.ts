// Which requests the admin interface answers, and which web pages it refuses.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isLoopback } from '../../lib/core/addresses.ts'
import { checkAdminRequest } from '../../lib/admin/cross-site-guard.ts'
import type { AdminExposure } from '../../lib/admin/cross-site-guard.ts'

const guard = suite('admin/guard')

type Fields = Record<string, string>

function refusal(headers: Fields, exposure: AdminExposure = 'loopback', line = 'GET /memory') {
  const [method = '', path = ''] = line.split(' ')
  return checkAdminRequest({ method, path, headers }, exposure)
}

function isAnswered(headers: Fields, exposure?: AdminExposure, line?: string): boolean {
  return refusal(headers, exposure, line) === null
}

const OURS = [
  'localhost',
  'localhost:15000',
  'LocalHost:15000',
  'gateway.localhost:15000',
  '127.0.0.1',
  '127.0.0.1:15000',
  '127.1.2.3:80',
  '[::1]',
  '[::1]:15000',
]

/** Names that a page can point to this machine, and names that only look like loopback. */
const THEIRS = [
  'evil.example',
  'evil.example:15000',
  '127.0.0.1.evil.example:15000',
  '127.0.0.1.nip.io',
  'localhost.evil.example',
  'evil-localhost',
  'localhost:15000@evil.example',
  'localhost:15000:80',
  'localhost ',
  '10.0.0.1:15000',
  '192.168.1.1',
  '0.0.0.0:15000',
  '[::]:15000',
  '[fe80::1]:15000',
  '[::1',
  '[::1]evil.example',
  '::1',
  '127.1:15000',
  '2130706433',
]

guard('on loopback, answers to host names of this machine', () => {
  for (const host of OURS) assert.ok(isAnswered({ host }), host)
})

guard('on loopback, refuses every other host name', () => {
  for (const host of THEIRS) assert.not.ok(isAnswered({ host }), host)
})

guard('answers to any host name when bound elsewhere on purpose, or on a unix socket', () => {
  for (const host of [...OURS, ...THEIRS]) {
    assert.ok(isAnswered({ host }, 'open'), host)
    assert.ok(isAnswered({ host }, 'unix'), host)
  }
})

guard('answers HTTP/1.0 without a Host, which no browser sends', () => {
  assert.ok(isAnswered({}))
})

guard('answers its own pages only', () => {
  const host = 'localhost:15000'
  assert.ok(isAnswered({ host, origin: 'http://localhost:15000' }))
  for (const origin of [
    'http://localhost',
    'http://localhost:3000',
    'http://127.0.0.1:15000',
    'https://localhost:15000',
    'http://evil.example',
    'http://localhost:15000.evil.example',
    'null',
    '',
  ])
    for (const exposure of ['loopback', 'open', 'unix'] as const)
      assert.not.ok(isAnswered({ host, origin }, exposure), `${origin} ${exposure}`)
})

guard(
  'refuses requests that a browser marks as from another site, or another port of this one',
  () => {
    const host = 'localhost:15000'
    for (const site of ['same-origin', 'none'])
      assert.ok(isAnswered({ host, 'sec-fetch-site': site }), site)
    for (const exposure of ['loopback', 'open', 'unix'] as const)
      for (const site of ['cross-site', 'same-site', 'new-word', ''])
        assert.not.ok(isAnswered({ host, 'sec-fetch-site': site }, exposure), site)
  },
)

/** The headers of a browser that followed a link. */
const FOLLOWED = {
  host: 'localhost:15000',
  'sec-fetch-site': 'cross-site',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
}

guard('pages can be opened by a link of another site, as a top-level navigation', () => {
  for (const path of ['/', '/ui', '/ui/', '/ui/callback', '/ui/a/b'])
    for (const site of ['cross-site', 'same-site'])
      assert.ok(isAnswered({ ...FOLLOWED, 'sec-fetch-site': site }, 'loopback', `GET ${path}`))
})

guard('a link opens pages only, and no data', () => {
  const paths = ['/config_dump', '/debug/trace', '/debug/tasks', '/memory', '/logging', '/metrics']
  for (const path of [...paths, '', '/uix', '/u', '/ui.json', '//ui', '/x/ui', '/quitquitquit'])
    assert.not.ok(isAnswered(FOLLOWED, 'loopback', `GET ${path}`), path)
})

guard('a submitted form, a frame, a script and a fetch are not links', () => {
  for (const method of ['POST', 'HEAD', 'PUT', 'OPTIONS'])
    assert.not.ok(isAnswered(FOLLOWED, 'loopback', `${method} /ui`), method)
  for (const dest of ['iframe', 'frame', 'object', 'embed', 'script', 'image', 'empty', ''])
    assert.not.ok(isAnswered({ ...FOLLOWED, 'sec-fetch-dest': dest }, 'loopback', 'GET /ui'), dest)
  for (const mode of ['no-cors', 'cors', 'same-origin', 'websocket', ''])
    assert.not.ok(isAnswered({ ...FOLLOWED, 'sec-fetch-mode': mode }, 'loopback', 'GET /ui'), mode)
})

guard('refuses a link with a foreign host name, or from a foreign origin', () => {
  assert.not.ok(isAnswered({ ...FOLLOWED, host: 'evil.example' }, 'loopback', 'GET /ui'))
  for (const origin of ['http://evil.example', 'null'])
    assert.not.ok(isAnswered({ ...FOLLOWED, origin }, 'loopback', 'GET /ui'))
})

guard('the refusal says why', () => {
  assert.is(
    refusal({ host: 'evil.example' }),
    'forbidden: Host must be a loopback name such as localhost for the admin interface',
  )
  assert.is(
    refusal({ host: 'localhost', origin: 'http://evil.example' }),
    'forbidden: the admin interface does not answer other origins',
  )
  assert.is(
    refusal({ host: 'localhost', 'sec-fetch-site': 'cross-site' }),
    'forbidden: the admin interface does not answer other sites',
  )
})

guard('recognizes loopback addresses', () => {
  for (const name of ['localhost', '127.0.0.1', '127.255.0.9', '::1']) assert.ok(isLoopback(name))
  for (const name of ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example', ''])
    assert.not.ok(isLoopback(name), name)
})

guard.run()
