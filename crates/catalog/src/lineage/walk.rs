//! Everything reachable along the lineage of one entity.

use std::collections::HashMap;

use docent_model::{LineageDirection, Urn};

use super::{ENTITIES_AT_ONCE, MAX_ENTITIES, MAX_HOPS, shown_as};
use crate::{Catalog, Error};

/// The most edges that one walk reads: in a dense graph there are too many.
const MAX_EDGES: usize = 1_000_000;
/// The most paths followed at once when the paths to one entity are collected.
const MAX_OPEN_PATHS: usize = 1_000;

/// The limits of a walk, within [`MAX_HOPS`] and [`MAX_ENTITIES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkLimits {
    pub hops: usize,
    /// The most entities to find, including those that are only traversed.
    pub entities: usize,
    /// The most entities of each step from which the walk continues.
    pub explored_per_hop: usize,
    /// Includes soft-deleted entities.
    pub include_removed: bool,
}

impl Default for WalkLimits {
    fn default() -> Self {
        Self {
            hops: MAX_HOPS,
            entities: MAX_ENTITIES,
            explored_per_hop: MAX_ENTITIES,
            include_removed: false,
        }
    }
}

/// An entity that a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    pub urn: Urn,
    /// The length of the shortest path.
    pub degree: usize,
    pub is_removed: bool,
    /// Whether the walk continued from here.
    pub is_explored: bool,
    /// Whether the walk left out entities behind it.
    pub is_cut: bool,
    node: usize,
}

/// The result of a walk.
#[derive(Debug)]
pub struct Walk {
    /// The start comes first.
    nodes: Vec<Node>,
    reached: Vec<Reached>,
    is_partial: bool,
}

#[derive(Debug)]
struct Node {
    urn: Urn,
    degree: usize,
    /// The predecessors on shortest paths.
    before: Vec<usize>,
    is_explored: bool,
    is_cut: bool,
}

impl Walk {
    /// The entities by degree and URN.
    pub fn reached(&self) -> &[Reached] {
        &self.reached
    }

    /// Whether the walk reached a limit.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// At most so many shortest paths to an entity, both ends included.
    pub fn paths(&self, reached: &Reached, max: usize) -> Vec<Vec<Urn>> {
        let mut open = vec![vec![reached.node]];
        for _ in 0..reached.degree {
            let mut longer = Vec::new();
            for path in open {
                let Some(before) = path.last().and_then(|&last| self.nodes.get(last)) else {
                    continue;
                };
                for &node in &before.before {
                    if longer.len() < max.min(MAX_OPEN_PATHS) {
                        longer.push(path.iter().copied().chain([node]).collect());
                    }
                }
            }
            open = longer;
        }
        open.truncate(max);
        open.into_iter()
            .map(|path: Vec<usize>| {
                let nodes = path.iter().rev();
                nodes.map(|&node| self.nodes[node].urn.clone()).collect()
            })
            .collect()
    }
}

impl Catalog {
    /// Walks along the lineage of an entity step by step and finds each entity once, whatever
    /// cycles there are. A missing entity may have lineage, which others say; a hidden one has
    /// none.
    pub async fn lineage_walk(
        &self,
        start: &Urn,
        direction: LineageDirection,
        limits: WalkLimits,
    ) -> Result<Walk, Error> {
        let is_visible = self.hidden_among([start]).await?.is_empty();
        let mut walking = Walking::from(start, limits);
        let mut frontier = if is_visible { vec![0] } else { Vec::new() };
        let mut hops = 0;
        while !frontier.is_empty() && hops < limits.hops.min(MAX_HOPS) && !walking.is_full {
            frontier.truncate(limits.explored_per_hop);
            let mut next = Vec::new();
            // In portions, so that a full walk reads no further.
            for some in frontier.chunks(ENTITIES_AT_ONCE) {
                let urns = walking.urns(some);
                let steps = self.lineage_step(&urns, direction).await?;
                for (&node, step) in some.iter().zip(steps) {
                    let neighbors = step.neighbors.into_iter().map(|related| related.urn);
                    walking.take(node, neighbors, step.is_cut, &mut next);
                }
                if walking.is_full {
                    break;
                }
            }
            frontier = next;
            hops += 1;
        }
        let mut is_partial = walking.is_full || walking.nodes.iter().any(|node| node.is_cut);
        if hops == MAX_HOPS && !is_partial {
            is_partial = self.leads_on(&walking, &frontier, direction).await?;
        }
        let mut nodes = walking.nodes;
        let existence = self
            .existence_of(nodes.iter().skip(1).map(|node| &node.urn))
            .await?;
        let hidden = self
            .hidden_among(nodes.iter().map(|node| &node.urn))
            .await?;
        let mut reached: Vec<Reached> = nodes
            .iter()
            .enumerate()
            .skip(1)
            .map(|(at, node)| (at, node, existence.of(&node.urn)))
            .filter(|(_, node, _)| !hidden.contains(&node.urn))
            .filter(|(_, _, found)| found.exists && (limits.include_removed || !found.is_removed))
            .map(|(at, node, found)| Reached {
                urn: node.urn.clone(),
                degree: node.degree,
                is_removed: found.is_removed,
                is_explored: node.is_explored,
                is_cut: node.is_cut,
                node: at,
            })
            .collect();
        for node in &mut nodes {
            node.urn = shown_as(node.urn.clone(), &hidden)?;
        }
        reached.sort_by(|one, other| (one.degree, &one.urn).cmp(&(other.degree, &other.urn)));
        Ok(Walk {
            nodes,
            reached,
            is_partial,
        })
    }

    /// Whether there are unvisited entities behind the last step.
    async fn leads_on(
        &self,
        walking: &Walking,
        frontier: &[usize],
        direction: LineageDirection,
    ) -> Result<bool, Error> {
        for some in frontier.chunks(ENTITIES_AT_ONCE) {
            let urns = walking.urns(some);
            let steps = self.lineage_step(&urns, direction).await?;
            let mut behind = steps.iter().flat_map(|step| &step.neighbors);
            if behind.any(|related| !walking.known.contains_key(&related.urn)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A walk in progress.
struct Walking {
    nodes: Vec<Node>,
    known: HashMap<Urn, usize>,
    entities: usize,
    edges: usize,
    is_full: bool,
}

impl Walking {
    fn urns(&self, nodes: &[usize]) -> Vec<Urn> {
        let nodes = nodes.iter();
        nodes.map(|&node| self.nodes[node].urn.clone()).collect()
    }

    fn from(start: &Urn, limits: WalkLimits) -> Self {
        let node = Node {
            urn: start.clone(),
            degree: 0,
            before: Vec::new(),
            is_explored: false,
            is_cut: false,
        };
        Self {
            nodes: vec![node],
            known: HashMap::from([(start.clone(), 0)]),
            entities: limits.entities.min(MAX_ENTITIES),
            edges: 0,
            is_full: false,
        }
    }

    /// Adds the neighbors of a node; new ones also to `next`.
    fn take(
        &mut self,
        from: usize,
        neighbors: impl Iterator<Item = Urn>,
        is_cut: bool,
        next: &mut Vec<usize>,
    ) {
        let degree = self.nodes[from].degree + 1;
        self.nodes[from].is_explored = true;
        self.nodes[from].is_cut = is_cut;
        for urn in neighbors {
            self.edges += 1;
            if self.edges > MAX_EDGES {
                self.is_full = true;
                self.nodes[from].is_cut = true;
                return;
            }
            if let Some(&node) = self.known.get(&urn) {
                if self.nodes[node].degree == degree {
                    self.nodes[node].before.push(from);
                }
                continue;
            }
            // Node 0 is the start, which is not among the found entities.
            if self.nodes.len() > self.entities {
                self.is_full = true;
                self.nodes[from].is_cut = true;
                continue;
            }
            let node = self.nodes.len();
            self.known.insert(urn.clone(), node);
            self.nodes.push(Node {
                urn,
                degree,
                before: vec![from],
                is_explored: false,
                is_cut: false,
            });
            next.push(node);
        }
    }
}
