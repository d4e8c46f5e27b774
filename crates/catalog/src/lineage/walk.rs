//! Everything reachable along the lineage of one entity.

use std::collections::{BTreeMap, HashMap, HashSet};

use docent_model::{LineageDirection, Registry, Urn};

use super::existence::Existence;
use super::{
    ENTITIES_AT_ONCE, MAX_ENTITIES, MAX_HOPS, MAX_NEIGHBOURS, TimeWindow, columns, shown_as,
};
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
    /// Includes entities that do not exist.
    pub include_missing: bool,
    /// Follows only edges that existed in this period.
    pub window: Option<TimeWindow>,
}

/// Entities that do not count as a hop: what is behind them has their degree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredHops {
    pub entity_type: String,
    /// The URNs of platforms; empty for all.
    pub platforms: Vec<String>,
}

impl IgnoredHops {
    fn contains(&self, urn: &Urn) -> bool {
        urn.entity_type() == self.entity_type
            && (self.platforms.is_empty()
                || platform_of(urn).is_some_and(|platform| self.platforms.contains(&platform)))
    }
}

/// The platform in the URN of an entity; a column has that of its table.
pub fn platform_of(urn: &Urn) -> Option<String> {
    let parts = urn.key_parts();
    let first = parts.first()?;
    match urn.entity_type() {
        "schemaField" | "dataJob" => platform_of(&Urn::parse(first).ok()?),
        "dataset" | "mlModel" | "mlModelGroup" | "mlFeatureTable" => Some((*first).to_owned()),
        "chart" | "dashboard" | "dataFlow" => Some(format!("urn:li:dataPlatform:{first}")),
        _ => None,
    }
}

impl Default for WalkLimits {
    fn default() -> Self {
        Self {
            hops: MAX_HOPS,
            entities: MAX_ENTITIES,
            explored_per_hop: MAX_ENTITIES,
            include_removed: false,
            include_missing: false,
            window: None,
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

impl Reached {
    /// This entity under another URN.
    #[must_use]
    pub fn renamed(&self, urn: Urn) -> Self {
        Self {
            urn,
            ..self.clone()
        }
    }
}

/// The jobs between columns, by the nodes before and behind them.
type Jobs = HashMap<(usize, usize), usize>;

/// The result of a walk.
#[derive(Debug)]
pub struct Walk {
    /// The start comes first.
    nodes: Vec<Node>,
    jobs: Jobs,
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
    is_ignored: bool,
}

impl Node {
    /// A new node behind another one.
    fn behind(before: usize, urn: Urn, degree: usize) -> Self {
        Self {
            urn,
            degree,
            before: vec![before],
            is_explored: false,
            is_cut: false,
            is_ignored: false,
        }
    }
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

    /// Whether an entity does not count as a hop.
    pub fn is_ignored(&self, reached: &Reached) -> bool {
        self.nodes[reached.node].is_ignored
    }

    /// At most so many shortest paths to an entity, both ends included.
    pub fn paths(&self, reached: &Reached, max: usize) -> Vec<Vec<Urn>> {
        let mut open = vec![vec![reached.node]];
        // Each node was found behind its predecessors, so this ends at the start.
        while open.iter().any(|path| path.last() != Some(&0)) {
            let mut longer = Vec::new();
            for path in open {
                if path.last() == Some(&0) {
                    longer.push(path);
                    continue;
                }
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
                let mut urns = Vec::with_capacity(path.len());
                let mut before = None;
                for &node in path.iter().rev() {
                    let job = before.and_then(|before| self.jobs.get(&(before, node)));
                    urns.extend(job.map(|&job| self.nodes[job].urn.clone()));
                    urns.push(self.nodes[node].urn.clone());
                    before = Some(node);
                }
                urns
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
        ignored: &[IgnoredHops],
    ) -> Result<Walk, Error> {
        let is_visible = self.hidden_among([start]).await?.is_empty();
        let mut walking = Walking::from(start, limits);
        let mut frontier = if is_visible { vec![0] } else { Vec::new() };
        let mut hops = 0;
        while !frontier.is_empty() && hops < limits.hops.min(MAX_HOPS) && !walking.is_full {
            frontier.truncate(limits.explored_per_hop);
            let mut next = Vec::new();
            // Entities that do not count as a hop are passed in the same hop.
            while !frontier.is_empty() && !walking.is_full {
                let found = self.walk_on(&mut walking, &frontier, direction, ignored);
                let (passed, found): (Vec<usize>, Vec<usize>) = found
                    .await?
                    .into_iter()
                    .partition(|&node| walking.nodes[node].is_ignored);
                next.extend(found);
                frontier = passed;
            }
            frontier = next;
            hops += 1;
        }
        let mut is_partial = walking.is_full || walking.nodes.iter().any(|node| node.is_cut);
        if hops == MAX_HOPS && !is_partial {
            is_partial = self.leads_on(&walking, &frontier, direction).await?;
        }
        let Walking {
            mut nodes,
            jobs,
            edges,
            ..
        } = walking;
        let existence = self
            .existence_of(nodes.iter().skip(1).map(|node| &node.urn))
            .await?;
        let hidden = self
            .hidden_among(nodes.iter().map(|node| &node.urn))
            .await?;
        let mut missing = HashSet::new();
        if limits.include_missing {
            let is_cut;
            (missing, is_cut) = self.seen_as_missing(&nodes, &hidden, edges).await?;
            is_partial |= is_cut;
        }
        let state = |at: usize, urn: &Urn| {
            if !hidden.contains(urn) {
                return Some(existence.of(urn));
            }
            missing.contains(&at).then(Existence::default)
        };
        let mut reached: Vec<Reached> = nodes
            .iter()
            .enumerate()
            .skip(1)
            .filter_map(|(at, node)| Some((at, node, state(at, &node.urn)?)))
            .filter(|(_, _, found)| found.exists || limits.include_missing)
            .filter(|(_, _, found)| limits.include_removed || !found.is_removed)
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
            jobs,
            reached,
            is_partial,
        })
    }

    /// The hidden nodes that the lineage of a visible entity before them names. To the caller they
    /// are like missing entities, which have no lineage of their own. Returns whether some were
    /// left out, too, because the walk has read too many edges.
    async fn seen_as_missing(
        &self,
        nodes: &[Node],
        hidden: &HashSet<Urn>,
        mut edges: usize,
    ) -> Result<(HashSet<usize>, bool), Error> {
        let registry = Registry::get();
        let directions = [LineageDirection::Upstream, LineageDirection::Downstream];
        let names: Vec<&str> = directions
            .into_iter()
            .flat_map(|direction| registry.lineage_relationships(direction))
            .copied()
            .collect();
        let mut behind: BTreeMap<Urn, HashMap<&Urn, usize>> = BTreeMap::new();
        for (at, node) in nodes.iter().enumerate().skip(1) {
            if !hidden.contains(&node.urn) {
                continue;
            }
            let before = node.before.iter().map(|&node| &nodes[node].urn);
            for urn in before.filter(|urn| !hidden.contains(*urn)) {
                // The table of a column stores its lineage.
                let holder = columns::parent(urn).unwrap_or_else(|| urn.clone());
                behind.entry(holder).or_default().insert(&node.urn, at);
            }
        }
        let mut seen = HashSet::new();
        let holders: Vec<Urn> = behind.keys().cloned().collect();
        for holders in holders.chunks(ENTITIES_AT_ONCE) {
            if edges > MAX_EDGES {
                return Ok((seen, true));
            }
            let pages = self
                .store()
                .edges_list(holders, true, &names, &[], 0, MAX_NEIGHBOURS)
                .await?;
            for (holder, page) in holders.iter().zip(pages) {
                edges += page.items.len();
                let Some(behind) = behind.get(holder) else {
                    continue;
                };
                let ends = page.items.iter();
                seen.extend(ends.filter_map(|edge| behind.get(&edge.urn)));
            }
        }
        Ok((seen, false))
    }

    /// Adds the neighbors of nodes, and returns those that are new.
    async fn walk_on(
        &self,
        walking: &mut Walking,
        frontier: &[usize],
        direction: LineageDirection,
        ignored: &[IgnoredHops],
    ) -> Result<Vec<usize>, Error> {
        let mut found = Vec::new();
        // In portions, so that a full walk reads no further.
        for some in frontier.chunks(ENTITIES_AT_ONCE) {
            let urns = walking.urns(some);
            let steps = self.lineage_step(&urns, direction, walking.window).await?;
            for (&node, step) in some.iter().zip(steps) {
                let neighbors = step.neighbors.into_iter().map(|related| related.urn);
                walking.take(node, neighbors, step.is_cut, &mut found);
                for (column, job) in step.jobs {
                    walking.pass_job(node, &column, job);
                }
            }
            if walking.is_full {
                break;
            }
        }
        for &node in &found {
            let node = &mut walking.nodes[node];
            node.is_ignored = ignored.iter().any(|ignored| ignored.contains(&node.urn));
        }
        Ok(found)
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
            let steps = self.lineage_step(&urns, direction, walking.window).await?;
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
    jobs: Jobs,
    entities: usize,
    edges: usize,
    is_full: bool,
    window: Option<TimeWindow>,
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
            is_ignored: false,
        };
        Self {
            nodes: vec![node],
            known: HashMap::from([(start.clone(), 0)]),
            jobs: Jobs::new(),
            entities: limits.entities.min(MAX_ENTITIES),
            edges: 0,
            is_full: false,
            window: limits.window,
        }
    }

    /// Adds the job between a column and one of its neighbors. It is found, but the walk does not
    /// continue there: the job has other columns, too.
    fn pass_job(&mut self, from: usize, column: &Urn, job: Urn) {
        let Some(&to) = self.known.get(column) else {
            return;
        };
        let degree = self.nodes[from].degree + usize::from(!self.nodes[from].is_ignored);
        let node = match self.known.get(&job) {
            Some(&node) => node,
            None if self.nodes.len() > self.entities => {
                self.is_full = true;
                return;
            }
            None => {
                self.known.insert(job.clone(), self.nodes.len());
                self.nodes.push(Node::behind(from, job, degree));
                self.nodes.len() - 1
            }
        };
        let passed = &mut self.nodes[node];
        if passed.degree == degree && from < node && !passed.before.contains(&from) {
            passed.before.push(from);
        }
        self.jobs.insert((from, to), node);
    }

    /// Adds the neighbors of a node; new ones also to `next`.
    fn take(
        &mut self,
        from: usize,
        neighbors: impl Iterator<Item = Urn>,
        is_cut: bool,
        next: &mut Vec<usize>,
    ) {
        let hop = usize::from(!self.nodes[from].is_ignored);
        let degree = self.nodes[from].degree + hop;
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
                // Only forward, because those that do not count as a hop may form a cycle.
                if self.nodes[node].degree == degree && from < node {
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
            self.nodes.push(Node::behind(from, urn, degree));
            next.push(node);
        }
    }
}
