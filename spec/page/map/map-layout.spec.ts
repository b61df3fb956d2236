// Where the boxes of the map lie: apart from each other, near those they belong to, with lines between them.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { farFrom, layoutOf, lineWidthOf, spread } from '../../../lib/page/map/map-layout.ts'
import type { Layout, Rect } from '../../../lib/page/map/map-layout.ts'
import { graphOf } from '../../../lib/page/map/map-graph.ts'
import type { MapView } from '../../../lib/admin/page-api/page-api-types.ts'
import { backend, gateway, listener, map, mapOf, policy, route } from './map-data.ts'

function drawn(view: MapView, width = 1200): Layout {
  return layoutOf(
    graphOf(view, { words: '', choice: 'all', most: 400, keep: null }),
    width,
    'names',
  )
}

function overlap(one: Rect, other: Rect): boolean {
  return (
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  )
}

/** Of every kind there is, with backends that routes far apart share. */
function motley(): MapView {
  const kinds = ['jwtAuth', 'cors', 'rateLimit', 'retry', 'timeout', 'csrf', 'delay', 'ai', 'x']
  const routes = Array.from({ length: 60 }, (_, at) =>
    route(`r${at}`, {
      policies: kinds.slice(0, at % 10).map((kind) => policy(kind)),
      problems: at % 7 === 0 ? ['broken'] : [],
      backends: Array.from({ length: at % 4 }, (_none, index) =>
        backend(`b${(at * 7 + index * 13) % 30}`, { key: `r${at}/${index}` }),
      ),
    }),
  )
  return map(
    gateway([
      listener(routes.slice(0, 20), { key: 'a' }),
      listener(routes.slice(20, 40), { key: 'b' }),
    ]),
    gateway([listener(routes.slice(40), { key: 'c', policies: [policy('cors')] })], 'second'),
    gateway([listener([], { key: 'd' })], 'third'),
  )
}

const laying = suite('page/map-layout')

laying('no box covers another, and all are on the sheet', () => {
  for (const width of [720, 1000, 1400]) {
    const { rects, height } = drawn(motley(), width)
    const all = [...rects]
    assert.ok(all.length > 140)
    all.forEach(([id, rect], at) => {
      assert.ok(rect.x >= 0 && rect.y >= 0, id)
      assert.ok(rect.x + rect.width <= width && rect.y + rect.height <= height, id)
      for (const [other, otherRect] of all.slice(at + 1))
        assert.not.ok(overlap(rect, otherRect), `${id} and ${other}`)
    })
  }
})

laying('every line begins and ends at a box', () => {
  const { rects, lines } = drawn(motley())
  for (const { from, to, path, end } of lines) {
    const [start, target] = [rects.get(from)!, rects.get(to)!]
    assert.ok(start !== undefined && target !== undefined)
    assert.not.match(path, 'NaN')
    assert.is(end[0], target.x)
    assert.ok(end[1] > target.y && end[1] < target.y + target.height)
  }
})

laying('a line leads from listener to route, policies and backend', () => {
  const one = route('a', { policies: [policy('cors')], backends: [backend('x:80')] })
  const two = route('b', { backends: [backend('x:80')] })
  const { lines } = drawn(mapOf(one, two))
  assert.equal(
    lines.map(({ from, to }) => `${from} > ${to}`),
    [
      'listener l > route a',
      'listener l > route b',
      'route a > policies a',
      'policies a > backend host x:80',
      'route b > backend host x:80',
    ],
  )
})

laying('a gateway of one listener is drawn as that listener', () => {
  assert.not.ok([...drawn(mapOf(route('a'))).rects.keys()].some((id) => id.startsWith('gateway')))
  const two = map(gateway([listener([], { key: 'a' }), listener([], { key: 'b' })]))
  assert.ok(drawn(two).rects.has('gateway default 127.0.0.1:3000'))
})

laying('a backend is at the height of the only route that uses it', () => {
  const view = mapOf(
    ...['a', 'b', 'c'].map((name) => route(name, { backends: [backend(`${name}:80`)] })),
  )
  const { rects } = drawn(view)
  for (const name of ['a', 'b', 'c']) {
    const [route, backend] = [rects.get(`route ${name}`)!, rects.get(`backend host ${name}:80`)!]
    assert.ok(Math.abs(route.y + route.height / 2 - backend.y - backend.height / 2) <= 1)
  }
})

laying('a route names a backend that is far away', () => {
  const many = Array.from({ length: 20 }, (_, at) =>
    route(`r${at}`, { backends: [backend('x:80', { key: `${at}` }), backend(`own${at}:80`)] }),
  )
  const graph = graphOf(mapOf(...many), { words: '', choice: 'all', most: 40, keep: null })
  const { rects } = layoutOf(graph, 1200, 'names')
  const { routes } = graph.gateways[0]!.listeners[0]!
  assert.equal(farFrom(routes[0]!, rects), ['x:80'])
  assert.equal(farFrom(routes[10]!, rects), [])
})

laying('policies that are counted take no more room for being many', () => {
  const view = mapOf(route('a', { policies: Array.from({ length: 9 }, () => policy('cors')) }))
  const graph = graphOf(view, { words: '', choice: 'all', most: 40, keep: null })
  assert.ok(layoutOf(graph, 1200, 'counts').height < layoutOf(graph, 1200, 'names').height)
})

laying('boxes that would overlap make room for each other on both sides', () => {
  const boxes = [100, 100, 100].map((wished) => ({ wished, height: 20 }))
  const tops = spread(boxes)
  assert.is(tops[1], 100)
  assert.is(tops[1]! - tops[0]!, tops[2]! - tops[1]!)
  assert.ok(tops[1]! - tops[0]! > 20)
  assert.equal(spread([{ wished: -50, height: 20 }]), [0])
  assert.equal(spread([]), [])
})

laying('a line is stronger the more requests it carries, and never gone', () => {
  const widths = [0, 1, 100, 10_000, 1_000_000].map((requests) => lineWidthOf(requests, 1_000_000))
  assert.equal(
    widths,
    widths.toSorted((one, other) => one - other),
  )
  assert.ok(widths[0]! >= 1 && widths[4]! <= 8)
  assert.ok(Number.isFinite(lineWidthOf(0, 0)))
})

laying.run()
