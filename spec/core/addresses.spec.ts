import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { addressKeyOf, normalizeAuthority } from '../../lib/core/addresses.ts'

const keys = suite('address key')

keys('is an IPv4 address', () => {
  assert.is(addressKeyOf('192.0.2.7'), '192.0.2.7')
  assert.is(addressKeyOf(''), '')
})

keys('is the /64 of an IPv6 address, in every notation', () => {
  const network = '2001:db8:1:2::/64'
  for (const address of [
    '2001:db8:1:2:3:4:5:6',
    '2001:db8:1:2::6',
    '2001:db8:1:2::',
    '2001:db8:1:2:a::1',
  ])
    assert.is(addressKeyOf(address), network, address)
  assert.is(addressKeyOf('2001:db8:1:3::6'), '2001:db8:1:3::/64')
})

keys('expands ::', () => {
  assert.is(addressKeyOf('::1'), '0:0:0:0::/64')
  assert.is(addressKeyOf('::'), '0:0:0:0::/64')
  assert.is(addressKeyOf('2001:db8::1'), '2001:db8:0:0::/64')
  assert.is(addressKeyOf('2001::1:2:3:4:5:6'), '2001:0:1:2::/64')
  assert.is(addressKeyOf('fe80::1%eth0'), 'fe80:0:0:0::/64')
})

keys.run()

const authorities = suite('normalized authority')

authorities('has lower case, no trailing dot and no default port', () => {
  const table: [received: string, scheme: 'http' | 'https', expected: string][] = [
    ['a.test', 'http', 'a.test'],
    ['A.Test', 'http', 'a.test'],
    ['a.test.', 'http', 'a.test'],
    ['a.test..', 'http', 'a.test'],
    ['a.test:80', 'http', 'a.test'],
    ['a.test:0080', 'http', 'a.test'],
    ['a.test:', 'http', 'a.test'],
    ['a.test.:80', 'http', 'a.test'],
    ['a.test.:81', 'http', 'a.test:81'],
    ['a.test:443', 'http', 'a.test:443'],
    ['a.test:443', 'https', 'a.test'],
    ['a.test:80', 'https', 'a.test:80'],
    ['a.test:8080', 'http', 'a.test:8080'],
    ['[::1]', 'http', '[::1]'],
    ['[::80]', 'http', '[::80]'],
    ['[2001:DB8::1]:80', 'http', '[2001:db8::1]'],
    ['127.0.0.1:3000', 'http', '127.0.0.1:3000'],
    ['.', 'http', ''],
    ['', 'http', ''],
  ]
  for (const [received, scheme, expected] of table)
    assert.is(normalizeAuthority(received, scheme === 'https'), expected, received)
})

authorities.run()
