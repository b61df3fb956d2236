// The configuration in a browser: what is in force and where it is written, and a refused reload, live.

import * as assert from 'uvu/assert'
import { judgeOf } from '../../support/ui/judge.ts'
import { assertPresentable } from '../../support/ui/presentable.ts'
import { POLICIES, Shop } from '../../support/ui/shop.ts'

const SECRET = 'key-nobody-is-to-see'

const KEYED = `
  - name: keyed
    matches: [{ path: { pathPrefix: /keyed } }]
    policies: { apiKey: { keys: [{ key: '\${SHOP_KEY}' }] }, directResponse: { status: 200 } }
`

const configuration = judgeOf('ui: configuration', () =>
  Shop.start({ more: KEYED + POLICIES, env: { SHOP_KEY: SECRET } }),
)

configuration('shows what is in force and where it was written, and no secret', async (seat) => {
  const { visit } = seat
  await visit.open('config')
  await visit.sees('.facts', 'generation 1')
  await visit.sees('.facts', 'shop.yaml')
  await visit.sees('main', 'name: team')
  await visit.sees('main', /shop\.yaml:\d+:\d+/)
  await visit.sees('main', /expression: .*request\.headers/)
  assert.not.match(await visit.asks<string>('document.documentElement.outerHTML'), SECRET)
})

configuration('shows the status of each policy resource', async ({ visit }) => {
  await visit.open('config')
  const row = visit.page.locator('.resources tbody tr')
  await visit.sees(row, /for-team[^]*HTTPRoute[^]*team\s[^]*Accepted[^]*Attached/)
  await visit.sees(row, /dangling[^]*absent-route[^]*not (?:Accepted|Attached)/)
})

configuration('scrolls to the match of a search', async ({ visit }) => {
  await visit.open('config')
  const field = visit.page.getByPlaceholder('Find')
  await visit.tabTo(field)
  await visit.page.keyboard.type('directResponse')
  await visit.sees('main', /1 of \d+/)
})

configuration(
  'a refused reload is shown at once with its position, on every page, until it is fixed',
  async (seat) => {
    const { world, visit } = seat
    await visit.open('config')
    await visit.sees('.facts', 'generation 1')
    world.write((text) => text.replace('name: hello', 'nane: hello'))
    await visit.sees('.note.bad', 'The last reload was refused')
    await visit.sees('.note.bad', /shop\.yaml:\d+:\d+: routes\[0\]\.nane: unknown field/)
    await visit.sees('.note.bad', 'Generation 1 stays in force')
    await visit.sees('.status', 'reload refused')
    await visit.sees('main', 'dangling')
    await assertPresentable(visit)
    await visit.follow('')
    await visit.page.getByRole('link', { name: 'reload refused' }).click()
    await visit.sees('main h1', 'Configuration')
    world.write((text) => text.replace('body: hello', 'body: mended'))
    await visit.sees('.facts', 'generation 2')
    await visit.page.locator('.note.bad').waitFor({ state: 'detached' })
    await visit.page
      .locator('.status', { hasText: 'reload refused' })
      .waitFor({ state: 'detached' })
    await visit.sees('main', 'mended')
  },
)

configuration.run()
