// The graph of the map: which routes match, their boxes, and their problems.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { backendsFirstUsed, graphOf, problemsOf } from '../../../lib/page/map/map-graph.ts'
import type { Filter, Graph, RouteBox } from '../../../lib/page/map/map-graph.ts'
import { backend, gateway, listener, map, mapOf, policy, route } from './map-data.ts'

const ALL: Filter = { words: '', choice: 'all', most: 40, keep: null }

function routesOf({ gateways }: Graph): RouteBox[] {
  return gateways.flatMap(({ listeners }) => listeners).flatMap(({ routes }) => routes)
}

const namesOf = (graph: Graph): string[] => routesOf(graph).map((box) => box.route.name)

const modelling = suite('page/map-graph')

modelling('draws a backend of several routes once', () => {
  const view = mapOf(
    route('a', { backends: [backend('one:80'), backend('two:80')] }),
    route('b', { backends: [backend('one:80', { key: 'other' })] }),
  )
  const { backends } = graphOf(view, ALL)
  assert.equal(
    backends.map(({ uses }) => uses.map((use) => [use.route.name, use.backend.label])),
    [
      [
        ['a', 'one:80'],
        ['b', 'one:80'],
      ],
      [['a', 'two:80']],
    ],
  )
})

modelling('keeps backends of another kind apart, though they are called the same', () => {
  const both = [backend('x'), backend('x', { kind: 'mcp' })]
  assert.is(graphOf(mapOf(route('a', { backends: both })), ALL).backends.length, 2)
})

modelling('finds the first route that uses a backend', () => {
  const view = mapOf(
    route('a', { backends: [backend('one:80')] }),
    route('b', { backends: [backend('one:80'), backend('two:80')] }),
  )
  const graph = graphOf(view, ALL)
  const boxes = new Map(graph.backends.map((box) => [box.id, box]))
  const named = routesOf(graph).map((box) =>
    backendsFirstUsed(box, boxes).map(({ uses }) => uses[0]!.backend.label),
  )
  assert.equal(named, [['one:80'], ['two:80']])
})

modelling('splits requests by weight', () => {
  const backends = [backend('one:80', { weight: 3 }), backend('two:80', { weight: 1 })]
  const [box] = routesOf(graphOf(mapOf(route('a', { backends })), ALL))
  assert.equal(
    box!.uses.map(({ share }) => share),
    [0.75, 0.25],
  )
  const idle = [backend('one:80', { weight: 0 })]
  assert.is(routesOf(graphOf(mapOf(route('a', { backends: idle })), ALL))[0]!.uses[0]!.share, 0)
})

modelling('finds routes by every word, anywhere in them', () => {
  const view = mapOf(
    route('chat', { matches: ['POST /v1/*'], policies: [policy('jwtAuth')] }),
    route('files', { hostnames: ['files.example.com'], backends: [backend('Store:80')] }),
    route('tools', {
      backends: [backend('demo', { kind: 'mcp', config: { targets: [{ name: 'calendar' }] } })],
    }),
  )
  const found = (words: string): string[] => namesOf(graphOf(view, { ...ALL, words }))
  assert.equal(found('V1 jwt'), ['chat'])
  assert.equal(found('v1 store'), [])
  assert.equal(found('example store'), ['files'])
  assert.equal(found('calendar'), ['tools'])
  assert.equal(found('  '), ['chat', 'files', 'tools'])
})

modelling('finds routes with problems, errors or traffic', () => {
  const view = mapOf(
    route('idle'),
    route('busy', { traffic: { key: 'busy', requests: 5, errors: 0, refused: 5 } }),
    route('failing', { traffic: { key: 'failing', requests: 5, errors: 1, refused: 0 } }),
    route('broken', {
      backends: [backend('x', { policies: [policy('p', { problems: ['no'] })] })],
    }),
  )
  const found = (choice: Filter['choice']): string[] => namesOf(graphOf(view, { ...ALL, choice }))
  assert.equal(found('problems'), ['broken'])
  assert.equal(found('errors'), ['failing'])
  assert.equal(found('traffic'), ['busy', 'failing'])
})

modelling('draws up to the limit, and counts the rest', () => {
  const view = mapOf(...Array.from({ length: 500 }, (_, at) => route(`r${at}`)))
  const graph = graphOf(view, { ...ALL, words: 'r4', most: 10 })
  assert.equal([graph.drawn, graph.fitting, graph.routes], [10, 111, 500])
  assert.equal(namesOf(graph).slice(0, 3), ['r4', 'r40', 'r41'])
})

modelling('draws the route that is kept, though it does not fit', () => {
  const view = mapOf(...Array.from({ length: 50 }, (_, at) => route(`r${at}`)))
  assert.equal(namesOf(graphOf(view, { ...ALL, most: 2, keep: 'r49' })), ['r0', 'r1', 'r49'])
  assert.equal(namesOf(graphOf(view, { ...ALL, words: 'r7', keep: 'r3' })), ['r3', 'r7'])
})

modelling('shows empty listeners unless something is searched for', () => {
  const view = map(
    gateway([listener([], { key: 'empty' }), listener([route('a')], { key: 'full' })]),
    gateway([], 'bare'),
  )
  const shown = (filter: Filter): string[] =>
    graphOf(view, filter).gateways.flatMap(({ gateway: { name }, listeners }) => [
      name,
      ...listeners.map((box) => box.listener.key),
    ])
  assert.equal(shown(ALL), ['default', 'empty', 'full', 'bare'])
  assert.equal(shown({ ...ALL, words: 'a' }), ['default', 'full'])
  assert.equal(shown({ ...ALL, words: 'nothing like it' }), [])
})

modelling('lists every problem once, with the box that has it', () => {
  const shared = backend('x:80', { problems: ['down'] })
  const broken = route('a', {
    problems: ['own'],
    policies: [policy('cors'), policy('jwtAuth', { problems: ['keys'] })],
    backends: [shared, shared],
  })
  const guarded = listener([broken], { policies: [policy('apiKey', { problems: ['none'] })] })
  const view = { ...map(gateway([guarded])), problems: ['loose'] }
  assert.equal(
    problemsOf(view).map(({ id, where, reason }) => [id, where, reason]),
    [
      ['listener l', 'l: apiKey', 'none'],
      ['route a', 'a', 'own'],
      ['policy a 1', 'a: jwtAuth', 'keys'],
      ['backend host x:80', 'a: x:80', 'down'],
      [null, '', 'loose'],
    ],
  )
})

modelling.run()
