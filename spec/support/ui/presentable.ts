// Whether a page can be read by everybody: axe-core finds nothing serious in light and dark, and nothing is wider than a
// telephone.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Result } from 'axe-core'
import * as assert from 'uvu/assert'
import { until } from '../idp/until.ts'
import { ROOT } from '../root.ts'
import type { Visit } from './visit.ts'

const WAIT_MS = 30_000
const DESK = { width: 1280, height: 800 }
const TELEPHONE = { width: 390, height: 844 }

/** Evaluated rather than added to the page, which takes no script from elsewhere. */
const AXE = readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8')

const WIDE = `(() => {
  const width = document.documentElement.clientWidth
  const isCut = (element) => {
    for (let above = element.parentElement; above !== null; above = above.parentElement)
      if (getComputedStyle(above).overflowX !== 'visible' && above !== document.body) return true
    return false
  }
  const wide = [...document.querySelectorAll('body *')].filter((element) => {
    const { right, width: own } = element.getBoundingClientRect()
    return own > 0 && right > width + 1 && !isCut(element)
  })
  const names = wide.map((element) => element.outerHTML.slice(0, 120))
  if (document.documentElement.scrollWidth > width) names.push('the document')
  return names
})()`

/** In the colours and at the width in which the visit is left again: light, at a desk. */
export async function assertPresentable(visit: Visit): Promise<void> {
  const { page } = visit
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.setViewportSize(DESK)
  await assertNarrow(visit)
  await assertAccessible(visit)
  assert.ok((await lightness(visit)) > 200, 'it is dark where light is wanted')
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
  await page.setViewportSize(TELEPHONE)
  await assertNarrow(visit)
  await assertAccessible(visit)
  assert.ok((await lightness(visit)) < 60, 'it is light where dark is wanted')
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(DESK)
}

/** The page may need a moment to find its place. */
async function assertNarrow(visit: Visit): Promise<void> {
  const wide = (): Promise<string[]> => visit.asks(WIDE)
  await until(wide, ({ length }) => length === 0, WAIT_MS)
}

async function assertAccessible(visit: Visit): Promise<void> {
  await visit.asks(`{${AXE}}`)
  const run = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`
  const violations = await visit.asks<Result[]>(run)
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  const told = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  assert.equal(told, [])
}

/** Of what lies below everything, 0 to 255. */
async function lightness(visit: Visit): Promise<number> {
  const colour = await visit.asks<string>('getComputedStyle(document.body).backgroundColor')
  const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/g) ?? []).map(Number)
  return (red + green + blue) / 3
}
