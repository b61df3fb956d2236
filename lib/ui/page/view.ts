// The two small libraries that draw the page, under one name.

import htm from 'htm'
import { h } from 'preact'
import type { VNode } from 'preact'

export { createContext, render } from 'preact'
export type { ComponentChildren, ComponentType, VNode } from 'preact'
export {
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'preact/hooks'

/** One element at the top. */
export const html = htm.bind(h) as unknown as (
  strings: TemplateStringsArray,
  ...values: readonly unknown[]
) => VNode
