import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ListenerTable } from '../../lib/choose/host-table.ts'

const listeners = suite('listener by hostname')

const named = ['a.example.com', '*.example.com', '*.b.example.com', '[::1]'].map((hostname) => ({
  hostname,
}))

listeners('prefers an exact name to the longest wildcard to any host', () => {
  const table = new ListenerTable([...named, { hostname: '' }])
  const cases: [string, string][] = [
    ['a.example.com', 'a.example.com'],
    ['a.example.com:8080', 'a.example.com'],
    ['c.example.com', '*.example.com'],
    ['x.y.example.com', '*.example.com'],
    ['x.b.example.com:1', '*.b.example.com'],
    ['b.example.com', '*.example.com'],
    ['example.com', ''],
    ['.example.com', ''],
    ['other.org', ''],
    ['[::1]', '[::1]'],
    ['[::1]:80', '[::1]'],
    ['', ''],
  ]
  for (const [authority, expected] of cases)
    assert.is(table.find(authority)?.hostname, expected, authority)
})

listeners('is none when no hostname matches', () => {
  const table = new ListenerTable(named)
  for (const authority of ['example.com', 'aexample.com', 'com', ''])
    assert.is(table.find(authority), undefined, authority)
})

listeners.run()
