// The words on the map, and the way from box to box.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  backendNotes,
  drawnText,
  errorShare,
  expressionOf,
  kindsText,
  matchText,
  partsOf,
  rateBetween,
  rateText,
  sumOf,
} from '../../../lib/page/map/map-texts.ts'
import { findBox, graphOf, neighbourOf } from '../../../lib/page/map/map-graph.ts'
import type { RouteTraffic } from '../../../lib/admin/page-api/page-api-types.ts'
import { backend, mapOf, policy, route } from './map-data.ts'

const words = suite('page/map-texts')

function counts(requests: number, errors = 0): RouteTraffic {
  return { key: 'a', requests, errors, refused: 0 }
}

words('a route says the first of its matches and how many others there are', () => {
  assert.is(matchText(route('a', { matches: ['GET /x'] })), 'GET /x')
  assert.is(matchText(route('a', { matches: [] })), 'any request')
  const two = { matches: ['GET /x', '/y'], hostnames: ['a.example', 'b.example'] }
  assert.is(matchText(route('a', two)), 'a.example GET /x +3')
})

words('a request of a route is waited for by its path', () => {
  const of = (match: string): string => expressionOf(route('a', { matches: [match] }))
  assert.is(of('GET /v1/*'), 'request.path.startsWith("/v1")')
  assert.is(of('/old'), 'request.path == "/old"')
  assert.is(of('/a"b'), 'request.path == "/a\\"b"')
  for (const match of ['/*', '~ /x.*', 'GET /x, header a = b', '', 'any'])
    assert.is(of(match), '', match)
})

words('policies are named once, with how often they are there', () => {
  assert.is(
    kindsText(['cors', 'rateLimit', 'rateLimit'].map((kind) => policy(kind))),
    'cors, rateLimit ×2',
  )
})

words('the rate is the increase per second', () => {
  assert.equal(rateBetween(counts(10, 1), counts(30, 2), 4000), { requests: 5, errors: 0.25 })
  assert.is(rateBetween(counts(10), counts(3), 4000), null, 'a restart')
  assert.is(rateBetween(counts(10), counts(11), 0), null)
  assert.equal([0.25, 9.96, 1234.4].map(rateText), ['0.3/s', '10/s', '1,234/s'])
})

words('sums the counts of several routes', () => {
  const { requests, errors } = sumOf([counts(3, 1), counts(4)])
  assert.equal([requests, errors], [7, 1])
  assert.is(errorShare(counts(0)), 0)
})

words('says how much is drawn', () => {
  const text = (drawn: number, fitting: number, routes: number, more = 0): string =>
    drawnText({ drawn, fitting, routes }, more)
  assert.is(text(1, 1, 1), '1 route')
  assert.is(text(40, 500, 500), '500 routes, the first 40 drawn')
  assert.is(text(3, 3, 500), '3 of 500 routes found')
  assert.is(text(2, 2, 2, 1000), '2 routes, 1,000 more not listed')
})

words('an MCP backend has targets, however its config is written', () => {
  const told = {
    targets: [
      { name: 'a', kind: 'stdio', cmd: 'node' },
      { name: 'b', kind: 'mcp', host: 'h', port: 80 },
    ],
  }
  const written = {
    mcp: {
      targets: [
        { name: 'a', stdio: { cmd: 'node' } },
        { name: 'b', mcp: { host: 'h', port: 80 } },
      ],
    },
  }
  for (const config of [told, written])
    assert.equal(partsOf(backend('x', { kind: 'mcp', config })), [
      { name: 'a', note: 'stdio node' },
      { name: 'b', note: 'mcp h:80' },
    ])
})

words('an LLM backend has providers, however its config is written', () => {
  const told = {
    groups: [
      [{ name: 'a', provider: { kind: 'openAI', model: 'm' } }],
      [{ name: 'b', provider: { kind: 'mock' } }],
    ],
  }
  const written = {
    groups: [
      { providers: [{ name: 'a', provider: { openAI: { model: 'm' } } }] },
      { providers: [{ name: 'b', provider: { mock: {} } }] },
    ],
  }
  for (const config of [told, written])
    assert.equal(partsOf(backend('x', { kind: 'ai', config })), [
      { name: 'a', note: 'openAI m' },
      { name: 'b', note: 'mock' },
    ])
  const lone = { name: 'c', provider: { anthropic: {} } }
  assert.equal(partsOf(backend('x', { kind: 'ai', config: lone })), [
    { name: 'c', note: 'anthropic' },
  ])
  const models = {
    models: [{ name: 'gpt-*', entry: { provider: { kind: 'openAI' } } }],
    virtualModels: [{ name: 'v' }],
  }
  assert.equal(partsOf(backend('x', { kind: 'llm', config: models })), [
    { name: 'gpt-*', note: 'openAI' },
    { name: 'v', note: 'virtual' },
  ])
})

words('a config of another shape has no parts', () => {
  for (const config of [
    null,
    'x',
    3,
    [],
    { targets: 'x' },
    { groups: [null, 3] },
    { provider: null },
  ])
    for (const kind of ['host', 'mcp', 'ai', 'llm'] as const)
      for (const { name, note } of partsOf(backend('x', { kind, config })))
        assert.equal([typeof name, typeof note], ['string', 'string'])
})

words('a backend says how many routes use it and what its connections do', () => {
  const pool = { open: 2, idle: 1, waiting: 3 }
  const uses = ['a', 'b'].map((name) => ({ route: route(name), backend: backend('x', { pool }) }))
  assert.is(backendNotes(uses), '2 routes · 2 connections · 3 waiting')
  assert.is(backendNotes([{ route: route('a'), backend: backend('x') }]), '')
})

words('every box is found by its id', () => {
  const view = mapOf(route('a', { policies: [policy('cors')], backends: [backend('x:80')] }))
  const graph = graphOf(view, { words: '', choice: 'all', most: 40, keep: null })
  const kinds = ['listener l', 'route a', 'policies a', 'policy a 0', 'backend host x:80', 'gone']
  assert.equal(
    kinds.map((id) => findBox(graph, id)?.kind ?? null),
    ['listener', 'route', 'policies', 'policy', 'backend', null],
  )
})

words('an arrow key leads to the next box that way', () => {
  const at = (x: number, y: number) => ({ x, y, width: 10, height: 10 })
  const all = [at(0, 0), at(40, 0), at(0, 40), at(45, 38), at(80, 2)]
  const to = (key: string, from: number): number | null => neighbourOf(key, all[from]!, all)
  assert.equal([to('ArrowRight', 0), to('ArrowDown', 0), to('ArrowRight', 1)], [1, 2, 4])
  assert.equal([to('ArrowLeft', 4), to('ArrowUp', 3), to('ArrowRight', 2)], [1, 1, 3])
  assert.equal([to('ArrowLeft', 0), to('ArrowUp', 0), to('Enter', 0)], [null, null, null])
})

words.run()
