// Who is answered on the admin interface, and which pages are kept away.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { refusalOf } from '../../lib/admin/guard.ts'
import { isLoopback } from '../../lib/base/loopback.ts'
import type { Exposure } from '../../lib/admin/guard.ts'

const guard = suite('admin/guard')

function isAnswered(headers: Record<string, string>, exposure: Exposure = 'loopback'): boolean {
  return refusalOf(headers, exposure) === null
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

/** Names that a page can point to this machine, and what only looks like ours. */
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

guard('on loopback, answers to names of this machine', () => {
  for (const host of OURS) assert.ok(isAnswered({ host }), host)
})

guard('on loopback, refuses every other name', () => {
  for (const host of THEIRS) assert.not.ok(isAnswered({ host }), host)
})

guard('bound elsewhere on purpose, or on a unix socket, answers to any name', () => {
  for (const host of [...OURS, ...THEIRS]) {
    assert.ok(isAnswered({ host }, 'open'), host)
    assert.ok(isAnswered({ host }, 'unix'), host)
  }
})

guard('answers HTTP/1.0 without a Host: no browser sends that', () => {
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

guard('refuses what a browser says comes from another site, or another port of this one', () => {
  const host = 'localhost:15000'
  for (const site of ['same-origin', 'none'])
    assert.ok(isAnswered({ host, 'sec-fetch-site': site }), site)
  for (const exposure of ['loopback', 'open', 'unix'] as const)
    for (const site of ['cross-site', 'same-site', 'new-word', ''])
      assert.not.ok(isAnswered({ host, 'sec-fetch-site': site }, exposure), site)
})

guard('says why', () => {
  assert.is(
    refusalOf({ host: 'evil.example' }, 'loopback'),
    'forbidden: the admin interface answers to loopback names only',
  )
  assert.is(
    refusalOf({ host: 'localhost', origin: 'http://evil.example' }, 'loopback'),
    'forbidden: the admin interface does not answer other origins',
  )
  assert.is(
    refusalOf({ host: 'localhost', 'sec-fetch-site': 'cross-site' }, 'loopback'),
    'forbidden: the admin interface does not answer other sites',
  )
})

guard('knows loopback addresses', () => {
  for (const name of ['localhost', '127.0.0.1', '127.255.0.9', '::1']) assert.ok(isLoopback(name))
  for (const name of ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example', ''])
    assert.not.ok(isLoopback(name), name)
})

guard('lets a link or a login lead to a page, but no frame, script or other name', () => {
  const visit = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  const page = { host: 'localhost', ...visit, 'sec-fetch-dest': 'document' }
  const asked = (headers: Record<string, string>, wanted: 'page' | 'data'): boolean =>
    refusalOf(headers, 'loopback', undefined, wanted) === null
  assert.ok(asked(page, 'page'))
  assert.not.ok(asked(page, 'data'))
  assert.not.ok(asked({ ...page, host: 'evil.example' }, 'page'))
  assert.not.ok(asked({ ...page, origin: 'http://evil.example' }, 'page'))
  for (const dest of ['iframe', 'frame', 'object', 'embed', 'empty', 'script'])
    assert.not.ok(asked({ ...page, 'sec-fetch-dest': dest }, 'page'), dest)
  assert.not.ok(asked({ ...page, 'sec-fetch-mode': 'no-cors' }, 'page'))
})

guard.run()
