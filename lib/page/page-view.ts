// Everything the page uses of preact and htm, and the props that every page gets.

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

/** A template must have exactly one element at the top. */
export const html = htm.bind(h) as unknown as (
  strings: TemplateStringsArray,
  ...values: readonly unknown[]
) => VNode

export interface PageProps {
  /** The query part of the page's own address, after the `#`. */
  readonly query: URLSearchParams
}
