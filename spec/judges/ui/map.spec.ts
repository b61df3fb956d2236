// The map in a browser: connections, traffic, problems, and the configuration of each box.

import * as assert from 'uvu/assert'
import { judgeOf } from '../../support/ui/judge.ts'
import { assertPresentable } from '../../support/ui/presentable.ts'
import { POLICIES, Shop } from '../../support/ui/shop.ts'

const map = judgeOf('ui: map', async () => {
  const shop = await Shop.start({ more: POLICIES })
  for (const path of ['/hello', '/hello', '/hello']) assert.is(await shop.send(path), 200)
  assert.is(await shop.send('/team'), 403)
  assert.is(await shop.send('/down'), 503)
  return shop
})

map('shows gateways, routes, policies and backends, with their traffic', async (seat) => {
  const { world, visit } = seat
  await visit.open('map')
  await visit.sees('.box.listener', new RegExp(`default[^]*127\\.0\\.0\\.1:${world.port}`))
  await visit.sees('.box.route', /hello\s+\/hello\s+3 requests/)
  await visit.sees('.box.route', /team\s+\/team\/\*\s+1 request · 100 % refused/)
  await visit.sees('.box.route', /down\s+\/down\s+1 request · 100 % errors/)
  await visit.sees('.box.route', /tools\s+\/mcp\s+no requests yet/)
  await visit.sees('.box.backend', /demo\s+MCP\s+demo stdio/)
  await visit.sees('.box.backend', /main\s+LLM/)
  await visit.sees('.map', 'authorization')
  assert.is(await world.send('/hello'), 200)
  await visit.sees('.box.route', /hello\s+\/hello\s+4 requests/)
})

map('problems are listed first, and link to their box', async ({ visit }) => {
  await visit.open('map')
  await visit.sees('.map', /cannot connect to 127\.0\.0\.1:\d+: connection refused/)
  await visit.sees('.map', /dangling[^]*absent-route/)
  const problem = visit.page.getByRole('button', { name: /^down: 127/ })
  const link = visit.page.getByRole('link', { name: /^down: 127/ })
  await visit.tabTo(problem.or(link))
  await visit.press('Enter')
  await visit.sees('.panel', /Backend\s+127\.0\.0\.1:\d+/)
  await visit.sees('.panel', 'connection refused')
})

map('a box opens by keyboard and shows its configuration', async ({ visit }) => {
  await visit.open('map')
  const box = visit.page.locator('.box.route', { hasText: 'team' })
  await box.waitFor()
  await visit.tabTo(box)
  await visit.press('Enter')
  await visit.sees('.panel', /Route\s+team/)
  await visit.sees('.panel', 'shop.yaml:')
  await visit.sees('.panel', /rateLimit in force\s+default\/for-team/)
  await visit.sees('.panel', 'request.headers["x-team"] == "red"')
  await visit.press('Escape')
  await visit.page.locator('.panel').waitFor({ state: 'detached' })
})

map('a search keeps only the matches', async ({ visit }) => {
  await visit.open('map')
  await visit.page.getByRole('searchbox', { name: 'Search' }).fill('directResponse')
  await visit.sees('.map', '3 of 6 routes found')
  assert.is(await visit.page.locator('.box.route').count(), 3)
})

map('is accessible in light and dark, and fits a phone', async ({ visit }) => {
  await visit.open('map')
  await visit.page.locator('.box.route', { hasText: 'few' }).click()
  await visit.sees('.panel', 'rateLimit')
  await assertPresentable(visit)
})

map.run()
